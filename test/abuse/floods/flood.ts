import type { Attacker } from '../attacker/attacker.ts';

export interface Flood {
  readonly name: string;
  /** What the attacker does, for --list. */
  readonly what: string;
  /** `tls`: clients speak TLS. `monitor`: the monitoring port requires passwords, and an honest reader is measured like an honest user. */
  readonly setting?: 'tls' | 'monitor';
  /** Permitted growth of memory; without it, up to the limit of the cgroup. */
  readonly maxGrowthBytes?: number;
  /** Sessions that the sidecar may track afterwards. */
  readonly maxSessions?: number;
  /**
   * By how much the others' slowest call may exceed that in calm; 200 ms by default. More where hundreds of connections arrive at
   * once: accepting them takes its time.
   */
  readonly worstPlusMs?: number;
  /** Extra time for a read of the monitoring port, beyond the other bounds. */
  readonly monitorWaitMs?: number;
  /** Runs until `attacker.isOn` is false; then open connections are reset. */
  attack(attacker: Attacker): Promise<void>;
}
