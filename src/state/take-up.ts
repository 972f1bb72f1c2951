import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { NS_PER_MS } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { findObstacle, type Read, readState, setAside } from './read-state.ts';
import type { Header, StateRefusal } from './state-file.ts';
import { type Savable, StateKeeper } from './state-keeper.ts';
import { StateOwner } from './state-owner.ts';

export interface TakeUpOptions {
  readonly file: string;
  readonly intervalMs: number;
  readonly sidecarVersion: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const WHAT_TO_DO: Readonly<Record<StateRefusal, string>> = {
  torn: 'the disk or another program has damaged it; nothing is left to do but to look why',
  foreign: 'if it is of this sidecar, set applications and state.file as they were, put the file back and start again',
  older: 'start the version that wrote it, or go on without it',
  newer: 'start the version that wrote it, or go on without it',
  unreadable: 'see that the user of the sidecar may read and write it',
};

/**
 * Calls `create`, loads the file into the result, and makes the keeper of the file. An unusable file is logged and set
 * aside, and the result is empty: a file is never loaded in part. Such a file never makes this throw.
 */
export async function takeUp<Made extends { readonly state: Savable }>(
  create: () => Made,
  discard: (made: Made) => void,
  options: TakeUpOptions,
): Promise<{ readonly made: Made; readonly keeper: StateKeeper }> {
  const { file, intervalMs, sidecarVersion, clock, logger } = options;
  const writer = { writer: randomUUID(), writerStartedMs: clock.epochMs() };
  const owner = new StateOwner(file, writer);
  const beganNs = clock.nowNs();
  let made = create();
  const { applications } = made.state;
  const read = await readState(file, applications, clock);
  let restored: StateKeeper['restored'] = read.kind === 'state' ? 'restored' : read.kind;
  if (read.kind === 'state') {
    const why = tryToLoad(made.state, read);
    if (why === undefined) {
      tellRestored(read, beganNs, options);
    } else {
      // It may have loaded half of the file.
      discard(made);
      made = create();
      restored = 'unreadable';
      await refuse({ kind: restored, why, isFile: true }, options);
    }
  } else if (read.kind !== 'absent') {
    await refuse(read, options);
  }
  const obstacle = await findObstacle(file);
  if (obstacle !== undefined) {
    logger.warn(
      { code: 'D2S_ERR_STATE_FILE', reason: obstacle, file },
      'the state cannot be saved now; it is tried again',
    );
  }
  await owner.claim();
  const header: Header = { sidecarVersion, ...writer, applications };
  const keeper = new StateKeeper({ file, intervalMs, state: made.state, restored, header, owner, clock, logger });
  return { made, keeper };
}

function tryToLoad(state: Savable, { records }: Extract<Read, { kind: 'state' }>): string | undefined {
  try {
    state.load(records);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : 'unknown reason';
  }
}

async function refuse(
  { kind, why, isFile }: { readonly kind: StateRefusal; readonly why: string; readonly isFile: boolean },
  { file, logger }: TakeUpOptions,
): Promise<void> {
  const setAsideAs = isFile ? await setAside(file, kind) : undefined;
  const details = { code: 'D2S_ERR_STATE_FILE', file, reason: kind, why, setAsideAs, todo: WHAT_TO_DO[kind] };
  logger.warn(details, 'the state file is refused: counting starts anew');
}

function tellRestored(
  { bytes, sidecarVersion, savedEpochMs }: Extract<Read, { kind: 'state' }>,
  beganNs: number,
  { file, clock, logger }: TakeUpOptions,
): void {
  const savedAt = new Date(savedEpochMs).toISOString();
  const durationMs = Math.round((clock.nowNs() - beganNs) / NS_PER_MS);
  logger.info({ file, savedAt, bytes, writtenBy: sidecarVersion, durationMs }, 'state restored');
}
