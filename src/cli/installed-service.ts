/**
 * The installed service: `User=`, `Group=`, `ProtectProc=` and the folders that systemd makes at a start
 * (`StateDirectory=`, `LogsDirectory=`) of d2-sidecar.service with its drop-ins, read from the folders of systemd (systemd.unit(5)), so that
 * they are known even if systemd is not running.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

export interface Service {
  /** A name or a number, as written; undefined: root. */
  readonly user: string | undefined;
  /** Undefined: the user's own. */
  readonly group: string | undefined;
  /** Made at each start, and given to the user: `/var/lib/d2-sidecar`. */
  readonly folders: readonly string[];
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

/** Where systemd makes the folders that a unit names. */
const PARENTS: Readonly<Record<string, string>> = { StateDirectory: '/var/lib', LogsDirectory: '/var/log' };

/** Undefined without a unit. `root`: the folder to use as `/`. */
export async function findService(root = '/'): Promise<Service | undefined> {
  const folders = FOLDERS.map((folder) => path.join(root, folder));
  const [main] = await readExisting(folders.map((folder) => path.join(folder, UNIT)));
  if (main === undefined) return undefined;
  const found = { user: '', group: '', unit: main.file, visibleProcesses: 'default' };
  const made: string[] = [];
  for (const { file, text } of [main, ...(await readDropIns(folders))]) {
    for (const [key, value] of serviceLines(text)) {
      const parent = PARENTS[key];
      if (key === 'User') Object.assign(found, { user: value, unit: file });
      if (key === 'Group') found.group = value;
      if (key === 'ProtectProc') found.visibleProcesses = value;
      // One line may name several folders; a colon begins the name of a link to one.
      if (parent !== undefined)
        made.push(...value.split(/\s+/).map((name) => path.join(parent, name.split(':')[0] ?? '')));
    }
  }
  const { user, group, unit, visibleProcesses } = found;
  return {
    ...{ unit, folders: made, group: group === '' ? undefined : group },
    user: ['', 'root', '0'].includes(user) ? undefined : user,
    hidesServer: unit !== main.file && !['', 'default'].includes(visibleProcesses),
  };
}

/** Sorted by name across folders. For the same name, the first folder wins. */
async function readDropIns(folders: readonly string[]) {
  const byName = new Map<string, string>();
  for (const folder of folders) {
    const place = path.join(folder, `${UNIT}.d`);
    for (const name of await readdir(place).catch(() => [])) {
      if (name.endsWith('.conf') && !byName.has(name)) byName.set(name, path.join(place, name));
    }
  }
  return await readExisting([...byName.keys()].sort().map((name) => byName.get(name) ?? name));
}

async function readExisting(files: readonly string[]) {
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
