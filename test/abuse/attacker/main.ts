/** The attacker of an abuse run as a process: it begins a flood and reports its cost when told to stop. */
import os from 'node:os';
import { obeyOrders } from '../../support/load/orders.ts';
import { FLOODS } from '../floods/all-floods.ts';
import { Attacker, type Target } from './attacker.ts';

/** A real attacker has a machine of its own: here it gets the remaining processor time. */
os.setPriority(os.constants.priority.PRIORITY_LOW);

let attacker: Attacker | undefined;
let attack: Promise<void> | undefined;

obeyOrders({
  begin: ({ name, target }: { readonly name: string; readonly target: Target }) => {
    const flood = FLOODS.find((one) => one.name === name);
    if (flood === undefined) throw new Error(`no flood ${name}`);
    attacker = new Attacker(target);
    attack = flood.attack(attacker);
    // Its failure is told at the end.
    attack.catch(() => undefined);
  },
  end: async () => {
    attacker?.stop();
    await attack;
    return attacker?.cost;
  },
});
