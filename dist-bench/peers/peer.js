/** One way to stand between clients and an upstream. */
import { existsSync } from 'node:fs';
import path from 'node:path';
/** Why a peer cannot take part; undefined when it can. */
export function whyMissing(peer) {
    const missing = peer.needs.some((file) => findFile(file) === undefined);
    return missing ? `not installed: apt-get install ${peer.packages.join(' ')}` : undefined;
}
/** The path of a program, looked for as root would; a path is taken as it is. */
export function findFile(file) {
    const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/bin'];
    const paths = path.isAbsolute(file) ? [file] : folders.map((folder) => path.join(folder, file));
    return paths.find((candidate) => existsSync(candidate));
}
