/**
 * Takes a thread dump of the server's JVM when a call hangs, and keeps the last dumps in a folder. A dump stops the
 * JVM's threads for some milliseconds. So dumps are taken one at a time, and no more often than configured.
 */

import { lstat, mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, formatIso, NS_PER_MS, NS_PER_S } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { counter, gauge, type MetricDescription } from '../base/metric-description.ts';
import { platform } from '../base/platform/platform.ts';
import { describeFileError, resolveTrusted } from '../base/trusted-file.ts';
import { removeOwn, writeAside } from '../base/write-aside.ts';
import type { Config } from '../config/config.ts';
import { JvmSourceError } from './jvm-source.ts';
import { cleanDump, countDeadlocked, summariseThreads } from './thread-dump.ts';

export interface HungCall {
  readonly kind: string;
  readonly name: string;
  readonly seconds: number;
}

export interface ThreadDiagnosisParts {
  readonly config: Config['diagnosis']['threads'] & { readonly folder: string };
  readonly dumpThreads: () => Promise<string>;
  /** Changes with each restart of the server; undefined while unknown. */
  readonly serverId: () => string | undefined;
  /** The longest-running call; undefined if none runs. */
  readonly oldestCall: () => HungCall | undefined;
  /** Called after each dump with its file name. The dump belongs to the calls that have run for at least `ageNs`. */
  readonly onDump: (fileName: string, ageNs: number) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The deadlock in the last dump. */
export interface Diagnosed {
  /** E.g. `threads-20261124T155501Z.txt`. */
  readonly fileName: string;
  readonly atEpochMs: number;
  readonly deadlockedThreads: number;
}

const CHECK_MS = 1_000;
const MAX_FILE_BYTES = 4 * 1_024 * 1_024;
const DUMP_FILE = /^threads-\d{8}T\d{6}Z\.txt$/;

export class ThreadDiagnosis {
  readonly #parts: ThreadDiagnosisParts;
  #timer: NodeJS.Timeout | undefined;
  #nextNs = 0;
  #isBusy = false;
  #loggedReason: string | undefined;
  #last: (Diagnosed & { readonly serverId: string | undefined }) | undefined;
  written = 0;
  failed = 0;

  constructor(parts: ThreadDiagnosisParts) {
    this.#parts = parts;
  }

  /** Undefined before the first dump, and after a restart of the server. */
  get last(): Diagnosed | undefined {
    const now = this.#parts.serverId();
    const then = this.#last?.serverId;
    return now !== undefined && then !== undefined && now !== then ? undefined : this.#last;
  }

  start(): void {
    this.#timer = setInterval(() => void this.check(), CHECK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Takes a dump if a call has been running for a long time enough. Never rejects. */
  async check(): Promise<void> {
    const { config, clock, logger, oldestCall } = this.#parts;
    const nowNs = clock.nowNs();
    if (this.#isBusy || nowNs < this.#nextNs) return;
    const call = oldestCall();
    if (call === undefined || call.seconds * NS_PER_S < config.whenCallRunsMs * NS_PER_MS) return;
    this.#isBusy = true;
    this.#nextNs = nowNs + config.atMostEveryMs * NS_PER_MS;
    try {
      await this.#dump(call);
    } catch (cause) {
      this.failed += 1;
      const reason = cause instanceof JvmSourceError ? cause.message : describeFileError(cause);
      const fields = { reason, folder: config.folder };
      // Logs each reason once, not every ten minutes.
      if (reason !== this.#loggedReason)
        logger.warn(fields, 'a call has been running for a long time, but no thread dump could be written');
      this.#loggedReason = reason;
    } finally {
      this.#isBusy = false;
    }
  }

  async #dump(call: HungCall): Promise<void> {
    const { config, clock, logger, dumpThreads, serverId, onDump } = this.#parts;
    const atEpochMs = clock.epochMs();
    const ofServer = serverId();
    const dump = cleanDump(await dumpThreads());
    const time = formatIso(atEpochMs);
    const fileName = `threads-${time.replace(/[-:]|\.\d+/g, '')}.txt`;
    const why = `${time}: ${call.kind} ${call.name} has run for ${Math.round(call.seconds)} s`;
    const text = Buffer.from(`${why}\n\n${summariseThreads(dump)}\n${dump}`, 'utf8');
    const { realPath: folder } = await resolveTrusted(config.folder);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeAside(path.join(folder, fileName), async (handle) => {
      await handle.writeFile(text.subarray(0, MAX_FILE_BYTES));
      if (text.length > MAX_FILE_BYTES) await handle.writeFile('\n(the rest is left out)\n');
    });
    const deadlocked = countDeadlocked(dump);
    this.#last = { fileName, atEpochMs, deadlockedThreads: deadlocked, serverId: ofServer };
    this.written += 1;
    this.#loggedReason = undefined;
    onDump(fileName, config.whenCallRunsMs * NS_PER_MS);
    const fields = { file: path.join(config.folder, fileName), seconds: Math.round(call.seconds), deadlocked };
    logger.warn(fields, 'a call has been running for a long time: wrote a thread dump of the JVM');
    await this.#removeOldest(folder);
  }

  async #removeOldest(folder: string): Promise<void> {
    const names = (await readdir(folder)).filter((name) => DUMP_FILE.test(name)).sort();
    const own: string[] = [];
    for (const name of names) {
      const file = path.join(folder, name);
      const { uid } = await lstat(file);
      // Another user's sidecar may write into the same folder.
      if (uid === (platform.userId() ?? uid)) own.push(file);
    }
    for (const file of own.slice(0, Math.max(0, own.length - this.#parts.config.keep))) await removeOwn(file);
  }
}

export const DIAGNOSIS_METRICS: readonly MetricDescription<Pick<ThreadDiagnosis, 'written' | 'failed' | 'last'>>[] = [
  counter(
    'd2_sidecar_thread_dumps_total',
    'Automatic thread dumps: written or failed.',
    ({ written, failed }) => ({ written, failed }),
    'outcome',
  ),
  gauge(
    'd2_server_deadlocked_threads',
    'Threads in a deadlock, by the last automatic thread dump.',
    ({ last }) => last?.deadlockedThreads,
  ),
];
