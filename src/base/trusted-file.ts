/**
 * Opens files whose paths others may have prepared. Another user of the machine can put a symbolic link, a FIFO or a file of their own
 * where the configuration names one: into /tmp, or into a folder of theirs.
 *
 * A link is followed only if it belongs to root or to the user of this process, wherever it stands in the path. Kubernetes mounts
 * secrets by links of root in a folder that all may write (mode 1777), so the owner decides and not the folder; the kernel's
 * own `fs.protected_symlinks` does the same. Opening never waits.
 */
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, open, readlink, stat } from 'node:fs/promises';
import path from 'node:path';

/** Its message begins with "it" or with the path of a link, and says what was expected. */
export class UntrustedFileError extends Error {}

export interface OpenedFile {
  readonly handle: FileHandle;
  /** Without links, e.g. `/run/d2/access.log`, but for that of a descriptor. */
  readonly realPath: string;
  /** The path leads to a descriptor of a process, e.g. by `/dev/stderr`: the parent of that process has opened it. */
  readonly isDescriptor: boolean;
}

interface Resolved {
  readonly realPath: string;
  readonly isDescriptor: boolean;
}

/** As the kernel. */
const MAX_LINKS = 40;
/** Links of the kernel's whose text is no path, e.g. `pipe:[4711]`. */
const KERNEL_LINK = /^\/proc\/\d+\/(?:task\/\d+\/)?(?:fd\/\d+|root|cwd|exe)$/;
/** None of them is known to Windows. O_NONBLOCK: a FIFO would else wait for its other end. */
const SAFE_FLAGS = (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const PIECE_BYTES = 65_536;

/** Rejects with UntrustedFileError for a link of another user, else with the system's error. `flags` as `O_RDONLY`. */
export async function openTrusted(file: string, flags: number, mode?: number): Promise<OpenedFile> {
  const { realPath, isDescriptor } = await resolveTrusted(file);
  const noFollow = isDescriptor ? 0 : (constants.O_NOFOLLOW ?? 0);
  return { handle: await open(realPath, flags | SAFE_FLAGS | noFollow, mode), realPath, isDescriptor };
}

/**
 * The bytes of a regular file of at most `maxBytes`. `check` sees the open file before it is read. Rejects as `openTrusted`, and with
 * UntrustedFileError for what is no regular file, e.g. a FIFO or /dev/zero, or is larger.
 */
export async function readRegularFile(
  file: string,
  maxBytes: number,
  check: (stats: Stats) => void = () => undefined,
): Promise<Buffer> {
  const { handle } = await openTrusted(file, constants.O_RDONLY);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new UntrustedFileError(`it is ${kindOf(stats)}, expected a regular file`);
    check(stats);
    const tooLarge = new UntrustedFileError(`it is larger than ${maxBytes} bytes`);
    if (stats.size > maxBytes) throw tooLarge;
    const pieces: Buffer[] = [];
    // Up to its end, not its size: files of /proc have none, others may grow.
    for (let total = 0; ; ) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, null);
      if (bytesRead === 0) return Buffer.concat(pieces);
      total += bytesRead;
      if (total > maxBytes) throw tooLarge;
      pieces.push(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

/** For messages: `EACCES`, or e.g. `it is a FIFO, expected a regular file`. Never what is in a file. */
export function toFileReason(error: unknown): string {
  if (error instanceof UntrustedFileError) return error.message;
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
}

/** What keeps a file from being made in `folder`, as far as can be told without making one; undefined when nothing does. */
export async function findFolderObstacle(folder: string): Promise<string | undefined> {
  try {
    if (!(await stat(folder)).isDirectory()) return `${folder} is no folder`;
  } catch (error) {
    const reason = toFileReason(error);
    return `the folder ${folder} ${reason === 'ENOENT' ? 'does not exist' : `cannot be reached (${reason})`}`;
  }
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return `the folder ${folder} cannot be written (${toFileReason(error)})`;
  }
}

/** Whether a file, a folder or a link belongs to root or to the user of this process. */
export function isTrustedOwner(uid: number): boolean {
  // Windows has no such numbers.
  const own = process.geteuid?.();
  return own === undefined || uid === 0 || uid === own;
}

/** E.g. `root or the user of the sidecar (uid 998)`. */
export function trustedOwners(): string {
  const own = process.geteuid?.();
  return own === 0 ? 'root' : `root or the user of the sidecar (uid ${own})`;
}

/** E.g. `a FIFO`. */
function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return 'a FIFO';
  if (stats.isDirectory()) return 'a folder';
  if (stats.isSocket()) return 'a socket';
  return stats.isCharacterDevice() || stats.isBlockDevice() ? 'a device' : 'of an unknown kind';
}

/** Goes along the path as the kernel does, and looks at each link. What does not exist yet keeps its name. */
async function resolveTrusted(file: string): Promise<Resolved> {
  if (process.platform === 'win32') return { realPath: file, isDescriptor: false };
  let at = path.isAbsolute(file) ? '/' : process.cwd();
  let rest = file.split('/');
  let isDescriptor = false;
  for (let links = 0; rest.length > 0; ) {
    const [name = '', ...after] = rest;
    rest = after;
    if (name === '' || name === '.') continue;
    const next = name === '..' ? path.dirname(at) : path.join(at, name);
    const stats = await lstat(next).catch(toAbsent);
    if (stats === undefined) return { realPath: path.join(next, ...after), isDescriptor: false };
    isDescriptor = false;
    if (!stats.isSymbolicLink()) {
      at = next;
      continue;
    }
    if (!isTrustedOwner(stats.uid)) {
      throw new UntrustedFileError(
        `${next} is a symbolic link of uid ${stats.uid}, expected one of ${trustedOwners()}`,
      );
    }
    if (KERNEL_LINK.test(next)) {
      isDescriptor = true;
      at = next;
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) throw Object.assign(new Error(`${file}: too many links`), { code: 'ELOOP' });
    const target = await readlink(next);
    if (path.isAbsolute(target)) at = '/';
    rest = [...target.split('/'), ...after];
  }
  return { realPath: at, isDescriptor };
}

function toAbsent(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}
