/**
 * The user of the installed service: `User=`, `Group=` and `ProtectProc=` of d2-sidecar.service with its drop-ins, read from the
 * folders of systemd (systemd.unit(5)), so that it is known even if systemd is not running.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

interface ServiceUser {
  /** A name or a number, as written. */
  readonly name: string;
  /** Undefined: the user's own. */
  readonly group: string | undefined;
  readonly unit: string;
  /** Whether the unit runs as the server's user (a drop-in sets it), but hides the server's process from it. */
  readonly hidesServer: boolean;
}

const UNIT = 'd2-sidecar.service';
/** An earlier folder wins over a later one. */
const FOLDERS = [
  'etc/systemd/system',
  'run/systemd/system',
  'usr/local/lib/systemd/system',
  'usr/lib/systemd/system',
  'lib/systemd/system',
];

/** Undefined without a unit, and for a unit that runs as root. `root`: the folder to use as `/`. */
export async function findServiceUser(root = '/'): Promise<ServiceUser | undefined> {
  const folders = FOLDERS.map((folder) => path.join(root, folder));
  const [main] = await readExisting(folders.map((folder) => path.join(folder, UNIT)));
  if (main === undefined) return undefined;
  const found = { name: '', group: '', unit: '', visibleProcesses: 'default' };
  for (const { file, text } of [main, ...(await readDropIns(folders))]) {
    for (const [key, value] of serviceLines(text)) {
      if (key === 'User') Object.assign(found, { name: value, unit: file });
      if (key === 'Group') found.group = value;
      if (key === 'ProtectProc') found.visibleProcesses = value;
    }
  }
  const { name, group, unit, visibleProcesses } = found;
  if (['', 'root', '0'].includes(name)) return undefined;
  const hidesServer = unit !== main.file && !['', 'default'].includes(visibleProcesses);
  return { name, unit, hidesServer, group: group === '' ? undefined : group };
}

interface UnitFile {
  readonly file: string;
  readonly text: string;
}

/** Sorted by name across folders. For the same name, the first folder wins. */
async function readDropIns(folders: readonly string[]): Promise<readonly UnitFile[]> {
  const byName = new Map<string, string>();
  for (const folder of folders) {
    const place = path.join(folder, `${UNIT}.d`);
    for (const name of await readdir(place).catch(() => [])) {
      if (name.endsWith('.conf') && !byName.has(name)) byName.set(name, path.join(place, name));
    }
  }
  return await readExisting([...byName.keys()].sort().map((name) => byName.get(name) ?? name));
}

async function readExisting(files: readonly string[]): Promise<readonly UnitFile[]> {
  const read = files.map(async (file) => ({ file, text: await readFile(file, 'utf8').catch(() => undefined) }));
  return (await Promise.all(read)).flatMap(({ file, text }) => (text === undefined ? [] : [{ file, text }]));
}

function* serviceLines(text: string): Generator<readonly [key: string, value: string]> {
  let section = '';
  for (const line of text.split('\n')) {
    section = /^\s*\[(.*)\]\s*$/.exec(line)?.[1] ?? section;
    const [, key = '', value = ''] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (section === 'Service' && key !== '') yield [key, value];
  }
}
