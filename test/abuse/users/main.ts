/** The honest users of an abuse run, in a process of their own, so that no other event loop affects what they measure. */
import { obeyOrders } from '../channel.ts';
import { Crowd, type CrowdParts } from './crowd.ts';

let crowd: Crowd | undefined;

obeyOrders({
  begin: async (parts) => {
    // For a flood that could not be measured.
    void crowd?.end();
    crowd = new Crowd(parts as CrowdParts);
    await crowd.begin();
  },
  phase: (name) => crowd?.enter(String(name)),
  end: async () => {
    const result = await crowd?.end();
    crowd = undefined;
    return result;
  },
});
