/** The attacker of an abuse run as a process: it begins a flood and reports its cost when told to stop. */
import os from 'node:os';
import { obeyOrders } from '../channel.ts';
import { FLOODS } from '../floods/all-floods.ts';
import { Attacker, type Target } from './attacker.ts';

/** A real attacker has a machine of its own: here it gets the remaining processor time. */
os.setPriority(os.constants.priority.PRIORITY_LOW);

interface Begin {
  readonly name: string;
  readonly target: Target;
}

let attacker: Attacker | undefined;
let attack: Promise<void> | undefined;
let failure: Error | undefined;

obeyOrders({
  begin: (argument) => {
    const { name, target } = argument as Begin;
    const flood = FLOODS.find((one) => one.name === name);
    if (flood === undefined) throw new Error(`no flood ${name}`);
    failure = undefined;
    attacker = new Attacker(target);
    attack = flood.attack(attacker).catch((cause: Error) => {
      failure = cause;
    });
  },
  cost: () => attacker?.cost,
  /** Resets the connections that the flood has not closed. */
  end: async () => {
    attacker?.stop();
    await attack;
    if (failure !== undefined) throw failure;
    return attacker?.cost;
  },
});
