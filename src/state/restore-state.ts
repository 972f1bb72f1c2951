import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, formatIso, NS_PER_MS } from '../base/clock.ts';
import { describeErrno } from '../base/errors.ts';
import { platform } from '../base/platform/platform.ts';
import { randomId } from '../base/random-id.ts';
import {
  describeFileError,
  findFolderObstacle,
  isTrustedOwner,
  resolveTrusted,
  trustedOwners,
} from '../base/trusted-file.ts';
import { findReplaceable, renameTrusted } from '../base/write-aside.ts';
import { type Savable, type SavedRecord, SavedRecordError } from './saved-record.ts';
import { type Header, LAYOUT, parseHeader, parseRecord, readLines, type SavedHeader } from './state-file.ts';
import { StateKeeper, type StateKeeperParts, type StateRefusal } from './state-keeper.ts';

const CODE = 'D2S_ERR_STATE_FILE';
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
  options: Pick<StateKeeperParts, 'file' | 'intervalMs' | 'clock' | 'logger'> & Pick<Header, 'sidecarVersion'>,
): Promise<{ readonly made: Made; readonly keeper: StateKeeper }> {
  const { file, intervalMs, sidecarVersion, clock, logger } = options;
  const writer = { writer: randomId(), writerStartedMs: clock.epochMs() };
  const beganNs = clock.nowNs();
  let made = create();
  const loaded = await loadState(made.state, file, clock);
  if (loaded.kind === 'restored') {
    const { bytes, header } = loaded;
    const savedAt = formatIso(header.savedEpochMs);
    const durationMs = Math.round((clock.nowNs() - beganNs) / NS_PER_MS);
    logger.info({ file, savedAt, bytes, writtenBy: header.sidecarVersion, durationMs }, 'state restored');
  } else if (loaded.kind !== 'absent') {
    // A part of the file may be in the first.
    made = create();
    const { kind: reason, message: why, isFile } = loaded;
    const setAsideAs = isFile ? await setAside(file, reason) : undefined;
    const details = { code: CODE, file, reason, why, setAsideAs, todo: WHAT_TO_DO[reason] };
    logger.warn(details, 'the state file is refused: counting starts anew');
  }
  const reason = await findObstacle(file);
  if (reason !== undefined) {
    logger.warn({ code: CODE, reason, file }, 'the state cannot be saved now; it is tried again');
  }
  const header: Header = { sidecarVersion, ...writer, applications: made.state.applications };
  const restored = loaded.kind;
  const keeper = new StateKeeper({ file, intervalMs, state: made.state, restored, header, clock, logger });
  await keeper.owner.claim();
  return { made, keeper };
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

/** The message says why. */
class RefusedError extends Error {
  readonly kind: StateRefusal;
  /** Whether it can be set aside. */
  readonly isFile: boolean;

  constructor(kind: StateRefusal, why: string, isFile = true) {
    super(why);
    this.kind = kind;
    this.isFile = isFile;
  }
}

export type Loaded =
  | { readonly kind: 'absent' }
  | { readonly kind: 'restored'; readonly header: SavedHeader; readonly bytes: number }
  | RefusedError;

const OTHERS_MAY_WRITE = 0o002;
/** zlib's message for a file without the first bytes of gzip. */
const NO_GZIP = 'incorrect header check';

/** Loads the file into `state`. If it is refused, `state` may hold a part of it. Never rejects. */
export async function loadState(state: Savable, file: string, clock: Clock): Promise<Loaded> {
  try {
    const there = await stat(file);
    const { uid, mode, size } = there;
    if (!there.isFile()) throw new RefusedError('unreadable', 'it is not a file', false);
    if (!isTrustedOwner(uid))
      throw new RefusedError('foreign', `it belongs to uid ${uid}, expected ${trustedOwners()}`, false);
    if ((platform.permissionsOf(mode) & OTHERS_MAY_WRITE) !== 0)
      throw new RefusedError('foreign', 'everybody may write it, so anybody may have');
    return await loadContent(state, file, size, clock);
  } catch (error) {
    return describeFileError(error) === 'ENOENT' ? { kind: 'absent' } : describeRefusal(error);
  }
}

async function loadContent(state: Savable, file: string, bytes: number, clock: Clock): Promise<Loaded> {
  const lines = readLines(file);
  try {
    const first = await lines.next();
    const header = checkHeader(first.done === true ? undefined : first.value, state.applications);
    await state.load(recordsIn(lines, header, clock));
    return { kind: 'restored', header, bytes };
  } catch (error) {
    await lines.return(undefined);
    try {
      // The checksum comes last: damage may look like invalid content before.
      for await (const _ of readLines(file));
    } catch (damage) {
      return describeRefusal(damage);
    }
    return describeRefusal(error);
  }
}

function checkHeader(line: string | undefined, applications: readonly string[]): SavedHeader {
  const header = parseHeader(line);
  if (header === undefined) throw new RefusedError('foreign', 'it is not a state file');
  const { layout } = header;
  if (layout !== LAYOUT) {
    const why = `it has layout ${layout}, and this sidecar reads layout ${LAYOUT}`;
    throw new RefusedError(layout < LAYOUT ? 'older' : 'newer', why);
  }
  const unknown = header.applications.filter((name) => !applications.includes(name));
  if (unknown.length === 0) return header;
  const names = unknown.map((name) => `/${name}`).join(', ');
  throw new RefusedError('foreign', `it is of other applications than the configuration: ${names}`);
}

async function* recordsIn(
  lines: AsyncIterable<string>,
  { savedNs, savedEpochMs }: SavedHeader,
  clock: Clock,
): AsyncGenerator<SavedRecord> {
  // If the wall clock went backwards, no time counts as passed.
  const goneMs = Math.max(0, clock.epochMs() - savedEpochMs);
  const nowNs = clock.nowNs();
  const offset = { savedNs, savedAtNs: nowNs - goneMs * NS_PER_MS, nowNs };
  for await (const line of lines) {
    const record = parseRecord(line, offset);
    // gzip reads files that were joined as one.
    if (record.has('file')) throw new RefusedError('torn', 'it has a second header');
    yield record;
  }
}

function describeRefusal(error: unknown): RefusedError {
  if (error instanceof RefusedError) return error;
  if (error instanceof SavedRecordError) return new RefusedError('unreadable', error.message);
  const reason = describeFileError(error);
  if (reason === 'EFBIG') return new RefusedError('foreign', 'it is too large, or inflates to too much');
  if (!reason.startsWith('Z_')) return new RefusedError('unreadable', `it cannot be read (${reason})`);
  const isGzip = !(error instanceof Error && error.message === NO_GZIP);
  if (isGzip) return new RefusedError('torn', `it is damaged or cut (${reason})`);
  return new RefusedError('foreign', 'it is not a state file');
}
