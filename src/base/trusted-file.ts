/**
 * Opens files whose paths other users may have tampered with. Another user of the machine can put a symbolic link, a
 * FIFO or a file of their own where the configuration names one: in /tmp, or in a folder that they own.
 *
 * A symbolic link anywhere in the path is followed only if it belongs to root or to the user of this process.
 * Kubernetes mounts secrets through links owned by root in a folder that everybody can write to (mode 1777), so the
 * owner decides, not the folder. The kernel's own `fs.protected_symlinks` does the same. Opening never blocks.
 */
import { constants, type Stats } from 'node:fs';
import { access, lstat, open, readlink, stat } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { isErrno } from './errors.ts';
import { platform } from './platform/platform.ts';

/** The message begins with "it" or with the path of a link, and says what was expected. */
export class UntrustedFileError extends Error {}

interface Resolved {
  /** The path with all links resolved, e.g. `/run/d2/access.log`, except links to descriptors. */
  readonly realPath: string;
  /** The path leads to a descriptor, e.g. through `/dev/stderr`; the parent of the process has opened it. */
  readonly isDescriptor: boolean;
}

/** The kernel's own limit. */
const MAX_LINKS = 40;
/** Links of the kernel whose target is not a path, e.g. `pipe:[4711]`. */
const KERNEL_LINK = /^\/proc\/\d+\/(?:task\/\d+\/)?(?:fd\/\d+|root|cwd|exe)$/;

/** Rejects with UntrustedFileError for another user's link, else with the system's error. `flags`: e.g. `O_RDONLY`. */
export async function openTrusted(file: string, flags: number, mode?: number) {
  const { realPath, isDescriptor } = await resolveTrusted(file);
  const noFollow = isDescriptor ? 0 : platform.noFollowFlag;
  const handle = await open(realPath, flags | platform.noWaitFlags | noFollow, mode);
  return { handle, realPath, isDescriptor };
}

/**
 * Reads a regular file of at most `maxBytes`. `check` gets the stats of the open file before it is read. Rejects like
 * `openTrusted`, and with UntrustedFileError for a larger file or one that is not regular, e.g. a FIFO or /dev/zero.
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
    // Read to the end, not to the size: files in /proc have size 0, and other files may grow.
    const bytes = await buffer(handle.createReadStream({ end: maxBytes, autoClose: false }));
    if (bytes.length > maxBytes) throw new UntrustedFileError(`it is larger than ${maxBytes} bytes`);
    return bytes;
  } finally {
    await handle.close();
  }
}

/** Text that people wrote, without the byte order mark of Windows editors. Throws UntrustedFileError for UTF-16. */
export function decodeText(bytes: Buffer): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    throw new UntrustedFileError('it is UTF-16, expected UTF-8');
  }
  return bytes.toString('utf8').replace(/^\ufeff/, '');
}

/** `mode`: of a file's stats. */
export function isReadableByAll(mode: number): boolean {
  return (platform.permissionsOf(mode) & constants.S_IROTH) !== 0;
}

/** For messages: `EACCES`, or e.g. `it is a FIFO, expected a regular file`. Never the contents of a file. */
export function describeFileError(error: unknown): string {
  if (error instanceof UntrustedFileError) return error.message;
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
}

/** Why no file can be created in `folder`, checked without creating one; undefined if one can be created. */
export async function findFolderObstacle(folder: string): Promise<string | undefined> {
  try {
    if (!(await stat(folder)).isDirectory()) return `${folder} is not a folder`;
  } catch (error) {
    const reason = describeFileError(error);
    return `the folder ${folder} ${reason === 'ENOENT' ? 'does not exist' : `cannot be reached (${reason})`}`;
  }
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return `the folder ${folder} is not writable (${describeFileError(error)})`;
  }
}

export function isTrustedOwner(uid: number): boolean {
  const own = platform.userId();
  return own === undefined || uid === 0 || uid === own;
}

/** E.g. `root or the user of the sidecar (uid 998)`. */
export function trustedOwners(): string {
  const own = platform.userId();
  return own === 0 ? 'root' : `root or the user of the sidecar (uid ${own})`;
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return 'a FIFO';
  if (stats.isDirectory()) return 'a folder';
  if (stats.isSocket()) return 'a socket';
  return stats.isCharacterDevice() || stats.isBlockDevice() ? 'a device' : 'of an unknown kind';
}

/** Follows the path as the kernel does, and checks each link. Absent parts stay. Rejects like `openTrusted`. */
export async function resolveTrusted(file: string): Promise<Resolved> {
  if (platform.userId() === undefined) return { realPath: file, isDescriptor: false };
  let at = path.isAbsolute(file) ? '/' : process.cwd();
  let rest = file.split('/');
  let isDescriptor = false;
  for (let links = 0; rest.length > 0; ) {
    const [name = '', ...after] = rest;
    rest = after;
    if (name === '' || name === '.') continue;
    const next = name === '..' ? path.dirname(at) : path.join(at, name);
    const stats = await lstat(next).catch(ignoreAbsent);
    if (stats === undefined) return { realPath: path.join(next, ...after), isDescriptor: false };
    isDescriptor = false;
    if (!stats.isSymbolicLink()) {
      at = next;
      continue;
    }
    if (!isTrustedOwner(stats.uid)) {
      throw new UntrustedFileError(
        `${next} is a symbolic link owned by uid ${stats.uid}, expected the owner to be ${trustedOwners()}`,
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

/** For `catch`: undefined for a file that does not exist. */
export function ignoreAbsent(error: unknown): undefined {
  if (!isErrno(error, 'ENOENT')) throw error;
}
