import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, NS_PER_MS } from '../base/clock.ts';
import { describeErrno } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { randomId } from '../base/random-id.ts';
import { describeFileError, findFolderObstacle, resolveTrusted } from '../base/trusted-file.ts';
import { findReplaceable, renameTrusted } from '../base/write-aside.ts';
import { type Loaded, loadState, type RefusedError, type StateRefusal } from './load-state.ts';
import type { Savable } from './saved-record.ts';
import type { Header } from './state-file.ts';
import { StateKeeper } from './state-keeper.ts';

export interface RestoreOptions {
  readonly file: string;
  readonly intervalMs: number;
  readonly sidecarVersion: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const WHAT_TO_DO: Readonly<Record<StateRefusal, string>> = {
  torn: 'look for a bad disk, or for a program that copied a part of it',
  foreign:
    'if it is of this sidecar, set applications and state.file as they were, put the file back and start again; go on without one of an earlier build',
  older: 'start the version that wrote it, or go on without it',
  newer: 'start the version that wrote it, or go on without it',
  unreadable: 'see that the user of the sidecar may read and write it',
};

/**
 * Calls `create`, loads the file into the result, and makes the keeper of the file. An unusable file is logged and set
 * aside, and the result is empty: a file is never loaded in part. Such a file never makes this throw.
 */
export async function restoreState<Made extends { readonly state: Savable }>(
  create: () => Made,
  options: RestoreOptions,
): Promise<{ readonly made: Made; readonly keeper: StateKeeper }> {
  const { file, intervalMs, sidecarVersion, clock, logger } = options;
  const writer = { writer: randomId(), writerStartedMs: clock.epochMs() };
  const beganNs = clock.nowNs();
  let made = create();
  const loaded = await loadState(made.state, file, clock);
  if (loaded.kind === 'restored') {
    logRestored(loaded, beganNs, options);
  } else if (loaded.kind !== 'absent') {
    // A part of the file may be in the first.
    made = create();
    await setAsideRefused(loaded, options);
  }
  const obstacle = await findObstacle(file);
  if (obstacle !== undefined) {
    logger.warn(
      { code: 'D2S_ERR_STATE_FILE', reason: obstacle, file },
      'the state cannot be saved now; it is tried again',
    );
  }
  const header: Header = { sidecarVersion, ...writer, applications: made.state.applications };
  const restored = loaded.kind;
  const keeper = new StateKeeper({ file, intervalMs, state: made.state, restored, header, clock, logger });
  await keeper.owner.claim();
  return { made, keeper };
}

async function setAsideRefused(
  { kind, message: why, isFile }: RefusedError,
  { file, logger }: RestoreOptions,
): Promise<void> {
  const setAsideAs = isFile ? await setAside(file, kind) : undefined;
  const details = { code: 'D2S_ERR_STATE_FILE', file, reason: kind, why, setAsideAs, todo: WHAT_TO_DO[kind] };
  logger.warn(details, 'the state file is refused: counting starts anew');
}

function logRestored(
  { bytes, header: { sidecarVersion, savedEpochMs } }: Extract<Loaded, { kind: 'restored' }>,
  beganNs: number,
  { file, clock, logger }: RestoreOptions,
): void {
  const savedAt = new Date(savedEpochMs).toISOString();
  const durationMs = Math.round((clock.nowNs() - beganNs) / NS_PER_MS);
  logger.info({ file, savedAt, bytes, writtenBy: sidecarVersion, durationMs }, 'state restored');
}

/** Renames a refused file: one name per reason, so that restarts do not fill the disk. Undefined if it stays. */
export async function setAside(file: string, reason: StateRefusal): Promise<string | undefined> {
  try {
    const { realPath } = await resolveTrusted(file);
    const aside = `${realPath}.refused-${reason}`;
    await renameTrusted(realPath, aside);
    return aside;
  } catch {
    // The folder is not writable; saving fails for the same reason and logs it.
    return undefined;
  }
}

/** The obstacle to reading or writing the file, found without writing; undefined if there is none. */
export async function findObstacle(file: string): Promise<string | undefined> {
  let realPath: string;
  try {
    realPath = await findReplaceable(file);
  } catch (error) {
    return `${file}: ${describeFileError(error)}`;
  }
  const obstacle = await findFolderObstacle(path.dirname(realPath));
  if (obstacle !== undefined) return obstacle;
  const refusal = await access(file, constants.R_OK).catch(describeErrno);
  return refusal === undefined || refusal === 'ENOENT' ? undefined : `${file} cannot be read (${refusal})`;
}
