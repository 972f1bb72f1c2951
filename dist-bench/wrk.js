/** The load generator: https://github.com/wg/wrk with wrk.lua, and what it prints. */
import path from 'node:path';
import { SOURCE_FOLDER } from './folders.js';
const KEYS = ['requests', 'durationUs', 'bytes', 'errors', 'p50Us', 'p99Us', 'maxUs'];
/** The line `figures requests=12 durationUs=1000 ...` of wrk's output. Throws when it is missing or lacks a figure. */
export function parseFigures(output) {
    const line = /^figures (.*)$/m.exec(output)?.[1];
    if (line === undefined)
        throw new Error(`wrk printed no figures: ${output.trim().slice(-500)}`);
    const found = new Map(line.split(' ').map((pair) => pair.split('=')));
    const entries = KEYS.map((key) => {
        const value = Number.parseFloat(found.get(key) ?? '');
        if (!Number.isFinite(value))
            throw new Error(`wrk printed no ${key}: ${line}`);
        return [key, value];
    });
    return Object.fromEntries(entries);
}
/** Loads `port` of this machine for `seconds` with one thread. */
export async function runWrk(processes, port, load, seconds) {
    const { connections, ...settings } = load;
    const script = path.join(SOURCE_FOLDER, 'wrk.lua');
    const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script];
    const pairs = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
    return parseFigures(await processes.run('wrk', [...args, `http://127.0.0.1:${port}`, '--', ...pairs]));
}
