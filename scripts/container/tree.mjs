/** Lists and compares the files of images. */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';

/** Sorted by path: `{ path, kind, mode, owner, mtimeMs, bytes, content }`; `content` is a hash, or the target of a link. */
export function listTree(root) {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
  return names.map((name) => {
    const file = path.join(root, name);
    const stats = lstatSync(file);
    const kind = stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : stats.isFile() ? 'file' : 'other';
    const content = { folder: () => '', other: () => '', link: () => readlinkSync(file), file: () => hashOf(file) }[
      kind
    ]();
    const mode = (stats.mode & 0o7777).toString(8);
    const bytes = kind === 'file' ? stats.size : 0;
    return { path: `/${name}`, kind, mode, owner: `${stats.uid}:${stats.gid}`, mtimeMs: stats.mtimeMs, bytes, content };
  });
}

/** A line for each path that is missing in one of the trees or differs. */
export function compareTrees(one, other) {
  const [first, second] = [one, other].map((tree) => new Map(tree.map((entry) => [entry.path, JSON.stringify(entry)])));
  const paths = new Set([...first.keys(), ...second.keys()]);
  return [...paths].filter((name) => first.get(name) !== second.get(name)).map((name) => `${name} differs`);
}

/** A line for each fault of the image: shells and tools, setuid bits, writable files, foreign owners. */
export function listFaults(tree) {
  return tree.flatMap(({ path: name, kind, mode, owner }) => {
    const base = path.basename(name);
    const bits = Number.parseInt(mode, 8);
    const faults = [];
    if (/^(?:a|ba|da|z|k|c|tc)?sh$|^(?:busybox|env|npm|npx|apt|apt-get|dpkg|curl|wget)$/.test(base))
      faults.push('must not be in the image');
    if (kind !== 'link' && (bits & 0o6000) !== 0) faults.push('is setuid or setgid');
    if (kind !== 'link' && name !== '/tmp' && (bits & 0o022) !== 0) faults.push('is writable by others');
    if (owner !== '0:0') faults.push('does not belong to root');
    if (kind === 'other') faults.push('is neither file, folder nor link');
    return faults.map((fault) => `${name} ${fault}`);
  });
}

function hashOf(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
