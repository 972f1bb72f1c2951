/** The honest users of an abuse run, in a process of their own, so that no other event loop affects what they measure. */
import { obeyOrders } from '../../support/load/orders.ts';
import { Crowd, type CrowdParts } from './crowd.ts';

let crowd: Crowd | undefined;

obeyOrders({
  begin: async (parts: CrowdParts) => {
    // For a flood that could not be measured.
    void crowd?.end();
    crowd = new Crowd(parts);
    await crowd.begin();
  },
  phase: (name: string) => crowd?.enter(name),
  end: async () => {
    const result = await crowd?.end();
    crowd = undefined;
    return result;
  },
});
