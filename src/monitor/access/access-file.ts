/** Users and tokens files. Their hashes can be attacked offline by anybody who reads them, so other users must not. */
import type { Stats } from 'node:fs';
import { type FileHandle, stat } from 'node:fs/promises';
import path from 'node:path';
import { isErrno, StartError } from '../../base/errors.ts';
import { platform } from '../../base/platform/platform.ts';
import { decodeText, describeFileError, isTrustedOwner, readRegularFile } from '../../base/trusted-file.ts';
import { writeAside } from '../../base/write-aside.ts';
import { nameOfLine } from './access-lines.ts';

const OTHERS = 0o007;
/** Mode of a new file. It gets the group of its folder, so that a service's user can read a file that root made. */
const NEW_MODE = 0o640;
const MODE_BITS = 0o7777;
/** A thousand entries are 150 KB. */
const MAX_BYTES = 1024 * 1024;

/**
 * Throws StartError (D2S_ERR_ACCESS_FILE) if the file is absent, not a regular file, too large, or accessible to other
 * users. Owner and group may read it, since Kubernetes mounts secrets with `defaultMode: 0440`. Does not follow links
 * of another user.
 */
export async function loadAccessFile(file: string): Promise<string> {
  try {
    return decodeText(await readRegularFile(file, MAX_BYTES, (found) => checkPrivate(file, found)));
  } catch (cause) {
    if (cause instanceof StartError) throw cause;
    throw new StartError('D2S_ERR_ACCESS_FILE', `${file} cannot be read: ${describeFileError(cause)}`, { cause });
  }
}

/**
 * Replaces the line of the same name by `line`, or appends it; all other lines stay. A reader sees either the
 * old file or the new one (`writeAside`). An existing file keeps owner, group and mode. A
 * new file gets the group of its folder and mode 0640, or 0600 if this user may not set that group. Rejects as
 * `loadAccessFile` does, and with what `check` throws for the existing text.
 */
export async function putAccessLine(
  file: string,
  line: string,
  check: (text: string) => void,
): Promise<'added' | 'replaced'> {
  const before = await loadAccessFile(file).catch((error: unknown) => {
    if (error instanceof StartError && isErrno(error.cause, 'ENOENT')) return '';
    throw error;
  });
  check(before);
  const name = nameOfLine(line);
  const lines = before.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const index = lines.findIndex((one) => nameOfLine(one) === name);
  if (index === -1) lines.push(line);
  else lines[index] = line;
  await replaceFile(file, `${lines.join('\n')}\n`);
  return index === -1 ? 'added' : 'replaced';
}

async function replaceFile(file: string, text: string): Promise<void> {
  let before: Stats | undefined;
  // Root may replace a file of the user of the service, which stays that user's.
  const isReplaceable = (found: Stats) => {
    before = found;
    return isTrustedOwner(found.uid) || platform.userId() === 0;
  };
  try {
    const write = async (handle: FileHandle, target: string) => {
      await handle.writeFile(text);
      if (before === undefined) await giveToGroup(handle, (await stat(path.dirname(target))).gid);
      else await makeLike(handle, before);
    };
    await writeAside(file, write, isReplaceable);
  } catch (cause) {
    throw new StartError('D2S_ERR_ACCESS_FILE', `${file} cannot be written: ${describeFileError(cause)}`, { cause });
  }
}

/** Keeps the file readable for the sidecar when another user, e.g. root, has changed it. */
async function makeLike(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const own = await handle.stat();
  if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid);
  // After chown, which may clear bits. Unlike the mode at opening, this one ignores the umask.
  await handle.chmod(mode & MODE_BITS);
}

async function giveToGroup(handle: FileHandle, gid: number): Promise<void> {
  const own = await handle.stat();
  try {
    if (own.gid !== gid) await handle.chown(own.uid, gid);
  } catch (cause) {
    // Only root and members of that group may set it. Otherwise the file stays private to this user.
    if (describeFileError(cause) === 'EPERM') return;
    throw cause;
  }
  await handle.chmod(NEW_MODE);
}

/** Checks the open file, so that it is the one that is read. */
function checkPrivate(file: string, found: Stats): void {
  const permissions = platform.permissionsOf(found.mode);
  if ((permissions & OTHERS) === 0) return;
  const mode = permissions.toString(8).padStart(4, '0');
  throw new StartError(
    'D2S_ERR_ACCESS_FILE',
    `${file} is open to every user of this machine (mode ${mode}): expected 0600, or 0640 for a group; chmod o= closes it`,
  );
}
