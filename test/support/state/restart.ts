/** The state of a sidecar that ends, and its restoration by another process with another start of the monotonic clock. */
import path from 'node:path';
import type { RecorderConfig } from '../../../src/measure/record/recorded-application.ts';
import { restoreState } from '../../../src/state/restore-state.ts';
import { ManualClock } from '../clock.ts';
import { CometTraffic } from '../measure/comet/comet-traffic.ts';
import { Folder } from '../monitor/access/access-files.ts';

export type Life = Awaited<ReturnType<StateFolder['start']>>;

export class StateFolder extends Folder {
  readonly file = path.join(this.path, 'state');
  #lives = 0;

  /** Starts at `epochMs` with the state in the file. */
  async start(epochMs?: number, change: Partial<RecorderConfig> = {}, file = this.file) {
    this.#lives += 1;
    const clock = new ManualClock({ startEpochMs: epochMs, startNs: 7_000_000 * this.#lives });
    /** E.g. `['warn', { reason: 'torn' }, 'the state file is refused']`. */
    const log: [level: string, details: Readonly<Record<string, unknown>>, message: string][] = [];
    const keep = (level: string) => (details: unknown, message?: string) =>
      void log.push([level, details as Record<string, unknown>, message ?? '']);
    const logger = { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
    const { made, keeper } = await restoreState(() => new CometTraffic(change, undefined, clock), {
      file,
      intervalMs: 10_000,
      sidecarVersion: '1.2.3',
      clock,
      logger: logger as never,
    });
    return { traffic: made, keeper, log };
  }

  /** Saves, and starts again after `afterMs`. */
  async restart({ traffic, keeper }: Life, afterMs = 0, change: Partial<RecorderConfig> = {}): Promise<Life> {
    await keeper.save();
    if (keeper.failures > 0) throw new Error('not saved');
    return this.start(traffic.clock.epochMs() + afterMs, change);
  }
}
