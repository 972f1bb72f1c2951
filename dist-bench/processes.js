/** Every process that the benchmarks start, so that each is ended by its id, also when they are interrupted. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
const STOP_TIMEOUT_MS = 3_000;
/** What is kept of a program's output, to tell why it ended. */
const KEPT_CHARS = 4_000;
export class Processes {
    #folder;
    #running = new Map();
    #isClosed = false;
    /** `folder` is where programs put temporary files, so that nothing is left behind. */
    constructor(folder) {
        this.#folder = folder;
    }
    /** Starts a program in a group of its own, on the core given, else where the harness itself is. */
    start(command, core) {
        if (this.#isClosed)
            throw new Error('interrupted');
        const line = core === undefined ? [command.file] : ['taskset', '-c', String(core), command.file];
        const [file = '', ...before] = line;
        const child = spawn(file, [...before, ...command.args], {
            // A group takes workers with it, and keeps Ctrl-C from ending half of a measurement before the harness does.
            detached: true,
            stdio: command.hasChannel ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
            env: { ...process.env, TMPDIR: this.#folder, ...command.env },
        });
        this.#running.set(child, '');
        for (const stream of [child.stdout, child.stderr]) {
            stream?.setEncoding('utf8').on('data', (text) => {
                this.#running.set(child, `${this.outputOf(child)}${text}`.slice(-KEPT_CHARS));
            });
        }
        child.on('error', (cause) => this.#running.set(child, cause.message));
        return child;
    }
    /** True when all is being ended: what fails then has not failed by itself. */
    get isClosed() {
        return this.#isClosed;
    }
    /** The end of what it has printed. */
    outputOf(child) {
        return this.#running.get(child) ?? '';
    }
    /** Runs a program to its end and resolves to its output. Throws when it fails. */
    async run(file, args) {
        const child = this.start({ file, args });
        try {
            const [code] = (await once(child, 'close'));
            const output = this.outputOf(child);
            if (code !== 0)
                throw new Error(`${file} ended with ${code ?? 'a signal'}: ${output.trim().slice(-500)}`);
            return output;
        }
        finally {
            this.#running.delete(child);
        }
    }
    /** SIGTERM, and SIGKILL to the whole group when it is not enough. */
    async stop(child) {
        if (hasEnded(child)) {
            this.#running.delete(child);
            return;
        }
        const ended = once(child, 'exit');
        const timer = setTimeout(() => signalGroup(child, 'SIGKILL'), STOP_TIMEOUT_MS);
        child.kill('SIGTERM');
        await ended;
        clearTimeout(timer);
        // A master that was killed leaves its workers.
        signalGroup(child, 'SIGKILL');
        this.#running.delete(child);
    }
    /** Ends all, and starts nothing more. */
    async close() {
        this.#isClosed = true;
        await Promise.all([...this.#running.keys()].map((child) => this.stop(child)));
    }
}
export function hasEnded(child) {
    // Without an id it has never started.
    return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}
function signalGroup(child, signal) {
    try {
        if (child.pid !== undefined)
            process.kill(-child.pid, signal);
    }
    catch {
        // Nobody of the group is left, as it should be.
    }
}
