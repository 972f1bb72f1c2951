import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type Clock, NS_PER_MS } from '../base/clock.ts';
import { describeFileError, isTrustedOwner, trustedOwners } from '../base/trusted-file.ts';
import { type Savable, type SavedRecord, SavedRecordError } from './saved-record.ts';
import { LAYOUT, parseHeader, parseRecord, readLines, type SavedHeader } from './state-file.ts';

export type StateRefusal = 'torn' | 'foreign' | 'older' | 'newer' | 'unreadable';

/** The message says why. */
export class RefusedError extends Error {
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
    checkStats(there);
    return await loadContent(state, file, there.size, clock);
  } catch (error) {
    return describeFileError(error) === 'ENOENT' ? { kind: 'absent' } : describeRefusal(error);
  }
}

function checkStats(there: Stats): void {
  const { uid, mode } = there;
  if (!there.isFile()) throw new RefusedError('unreadable', 'it is not a file', false);
  if (!isTrustedOwner(uid))
    throw new RefusedError('foreign', `it belongs to uid ${uid}, expected ${trustedOwners()}`, false);
  if ((mode & OTHERS_MAY_WRITE) !== 0) throw new RefusedError('foreign', 'everybody may write it, so anybody may have');
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
    // The checksum comes last: damage may look like invalid content before.
    return describeRefusal((await findDamage(file)) ?? error);
  }
}

/** Throws what `readLines` throws for a damaged file. */
async function findDamage(file: string): Promise<unknown> {
  try {
    for await (const _ of readLines(file));
    return undefined;
  } catch (error) {
    return error;
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
