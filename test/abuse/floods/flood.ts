import type { Attacker } from '../attacker/attacker.ts';

export interface Flood {
  readonly name: string;
  /** What the attacker does, for --list. */
  readonly what: string;
  /** `tls`: clients speak TLS. `monitor`: the monitoring port asks for passwords, and an honest reader counts as an honest user. */
  readonly setting?: 'tls' | 'monitor';
  /** How much memory may grow; without it, up to what the cgroup allows. */
  readonly maxGrowthBytes?: number;
  /** Sessions that the sidecar may know afterwards. */
  readonly maxSessions?: number;
  /**
   * How much slower than in calm the others' worst call may be; 200 ms unless it is given. More where hundreds of connections come at one
   * moment: accepting them takes its time, once.
   */
  readonly worstPlusMs?: number;
  /** How much longer a read of the monitoring port may take than other bounds say. */
  readonly monitorWaitMs?: number;
  /** Until `attacker.isOn` is false; connections that are open then are reset. */
  attack(attacker: Attacker): Promise<void>;
}
