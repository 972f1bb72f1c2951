/** Processor time and memory of a process and all below it, from /proc (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs';
/** USER_HZ: what /proc counts in on every Linux, whatever the kernel's own tick is. */
const TICKS_PER_S = 100;
const US_PER_TICK = 1e6 / TICKS_PER_S;
/**
 * One line of /proc/<pid>/stat, e.g. `7 (nginx: (w)) S 1 ... 12 3 0 0 ...`. The name may hold blanks and brackets, so fields
 * are counted from the last `)`. Throws for a line that is none.
 */
export function parseStat(line) {
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    const field = (number) => Number(fields[number - 3]);
    const ticks = field(14) + field(15) + field(16) + field(17);
    const stat = { pid: Number.parseInt(line, 10), parent: field(4), cpuUs: ticks * US_PER_TICK };
    if (!Object.values(stat).every(Number.isFinite))
        throw new Error(`no line of /proc/<pid>/stat: ${line}`);
    return stat;
}
/** Resident memory in bytes out of /proc/<pid>/status; 0 for a process that has ended, which has no such line. */
export function parseResidentBytes(status) {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
/** The process `root` and all below it, out of all processes. */
export function treeOf(root, all) {
    const tree = all.filter(({ pid }) => pid === root);
    // Grows while it is walked: children of children follow.
    for (const { pid } of tree)
        tree.push(...all.filter(({ parent }) => parent === pid));
    return tree;
}
/** Processor time so far of a process and all below it. Throws when it is gone. */
export function cpuUsOf(pid) {
    const tree = readTree(pid);
    if (tree.length === 0)
        throw new Error(`process ${pid} has ended`);
    return tree.reduce((sum, { cpuUs }) => sum + cpuUs, 0);
}
/** Resident memory now of a process and all below it; pages that they share count for each. */
export function residentBytesOf(pid) {
    return readTree(pid).reduce((sum, stat) => sum + parseResidentBytes(readProc(stat.pid, 'status') ?? ''), 0);
}
function readTree(root) {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const lines = pids.map((pid) => readProc(Number(pid), 'stat')).filter((line) => line !== undefined);
    return treeOf(root, lines.map(parseStat));
}
/** Undefined for a process that has ended since it was listed. */
function readProc(pid, file) {
    try {
        return readFileSync(`/proc/${pid}/${file}`, 'latin1');
    }
    catch {
        return undefined;
    }
}
