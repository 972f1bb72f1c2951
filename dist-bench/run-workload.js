/** Runs one workload: all its contestants in turn, in rounds, so that what the machine does meanwhile hits all alike. */
import { whyMissing } from './peers/peer.js';
export async function runWorkload(workload, parts) {
    const run = new WorkloadRun(workload, parts);
    try {
        return await run.run();
    }
    finally {
        await run.stop();
    }
}
/** The list, begun one further in each round: nobody always follows the same one. */
export function rotated(list, by) {
    const at = list.length === 0 ? 0 : by % list.length;
    return [...list.slice(at), ...list.slice(0, at)];
}
class WorkloadRun {
    #workload;
    #parts;
    #missing = new Map();
    #notes = [];
    /** By the key of the process. */
    #running = new Map();
    #upstream;
    constructor(workload, parts) {
        this.#workload = workload;
        this.#parts = parts;
    }
    async run() {
        this.#upstream = await this.#parts.rig.startUpstream(this.#workload.upstream);
        const contestants = this.#takingPart();
        if (!this.#workload.isFresh) {
            for (const contestant of contestants)
                await this.#guarded(contestant, () => this.#prepare(contestant));
        }
        const rounds = [];
        for (let round = 0; round < this.#parts.options.rounds; round += 1) {
            const samples = new Map();
            for (const contestant of rotated(contestants, round)) {
                const sample = await this.#guarded(contestant, () => this.#measure(contestant));
                if (sample !== undefined)
                    samples.set(contestant.name, sample);
                this.#tell(round, contestant, sample);
            }
            rounds.push(samples);
        }
        for (const contestant of contestants)
            await this.#guarded(contestant, () => this.#inspect(contestant));
        return { rounds, missing: this.#missing, notes: this.#notes };
    }
    async stop() {
        const all = [...this.#running.values(), ...(this.#upstream === undefined ? [] : [this.#upstream])];
        await Promise.all(all.map((running) => this.#parts.rig.stop(running)));
    }
    #takingPart() {
        const { only } = this.#parts.options;
        return this.#workload.contestants.filter(({ name, peer }) => {
            if (only !== undefined && !only.includes(peer?.name ?? name))
                return false;
            const reason = peer === undefined ? undefined : whyMissing(peer);
            if (reason !== undefined)
                this.#missing.set(name, reason);
            return reason === undefined;
        });
    }
    /** One contestant's failure is its own: it takes no further part, and its row says why. */
    async #guarded(contestant, act) {
        if (this.#missing.has(contestant.name))
            return undefined;
        try {
            return await act();
        }
        catch (cause) {
            if (this.#parts.rig.processes.isClosed)
                throw cause;
            this.#missing.set(contestant.name, cause.message);
            return undefined;
        }
    }
    async #start({ peer }) {
        const upstream = this.#upstream;
        return peer === undefined ? upstream : await this.#parts.rig.startPeer(peer, upstream.spot.port);
    }
    async #prepare(contestant) {
        const key = contestant.processKey ?? contestant.name;
        if (this.#running.has(key))
            return;
        const running = await this.#start(contestant);
        this.#running.set(key, running);
        this.#parts.progress(`[${this.#workload.name}] warming up ${contestant.title}`);
        await this.#workload.prepare?.(this.#turn(contestant, running));
    }
    async #measure(contestant) {
        if (!this.#workload.isFresh)
            return await this.#workload.measure(this.#turn(contestant));
        const running = await this.#start(contestant);
        try {
            return await this.#workload.measure(this.#turn(contestant, running));
        }
        finally {
            await this.#parts.rig.stop(running);
        }
    }
    async #inspect(contestant) {
        if (this.#workload.isFresh || this.#workload.inspect === undefined)
            return;
        this.#notes.push(...(await this.#workload.inspect(this.#turn(contestant))));
    }
    #turn(contestant, given) {
        const running = given ?? this.#running.get(contestant.processKey ?? contestant.name);
        if (running === undefined)
            throw new Error('is not running');
        const { rig, options } = this.#parts;
        return { rig, running, contestant, seconds: options.seconds };
    }
    #tell(round, contestant, sample) {
        const { columns, name } = this.#workload;
        const place = `[${name} ${round + 1}/${this.#parts.options.rounds}] ${contestant.title}`;
        if (sample === undefined) {
            this.#parts.progress(`${place}: ${this.#missing.get(contestant.name)}`);
            return;
        }
        const alone = new Map([[contestant.name, sample]]);
        const figures = columns.flatMap(({ title, digits, read }) => {
            const value = read(contestant.name)(alone);
            // To itself, everything is 1.
            return value === undefined || title === 'sidecar to it' ? [] : [`${title} ${value.toFixed(digits)}`];
        });
        this.#parts.progress(`${place}: ${figures.join(', ')}`);
        if (sample.errors)
            this.#notes.push(`${contestant.title}: ${sample.errors} errors in round ${round + 1}.`);
    }
}
