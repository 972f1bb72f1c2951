import { CaseRun } from './case-run.ts';
import { type DataPathCase, DEADLINE_MS } from './data-path-case.ts';
import { type Observation, observe } from './observation.ts';
import { RawClient } from './raw-client.ts';
import type { ScriptedUpstream } from './scripted-upstream.ts';
import { playSteps } from './steps.ts';

export interface Split {
  /** Offset in all that the client sends, at which it makes two segments. */
  readonly request?: number;
  /** The same for the upstream. */
  readonly response?: number;
}

/** Plays cases against one upstream, each with a token of its own, so that many may run at once. */
export class CaseRunner {
  readonly #upstream: ScriptedUpstream;
  readonly #ca: string | undefined;
  #runs = 0;

  /** `ca`: authority that the client trusts, so that it speaks TLS. */
  constructor(upstream: ScriptedUpstream, ca?: string) {
    this.#upstream = upstream;
    this.#ca = ca;
  }

  /** Plays `subject` through `port` (the upstream's own, or a sidecar's) and says what both ends saw. Rejects at the deadline. */
  async run(subject: DataPathCase, port: number, split: Split = {}): Promise<Observation> {
    this.#runs += 1;
    // As long as the placeholder `{case-token}`, so that offsets mean the same in every run.
    const run = new CaseRun(`run-${String(this.#runs).padStart(8, '0')}`, split);
    this.#upstream.add(run, subject.upstream);
    const client = new RawClient(port, run, this.#ca);
    try {
      await withinDeadline(
        subject.deadlineMs ?? DEADLINE_MS,
        Promise.race([playSteps(subject.client, client), failureOf(run)]),
        () => describeState(client, run),
      );
      return observe(client, run);
    } finally {
      client.socket.destroy();
      this.#upstream.remove(run);
    }
  }
}

/** Rejects as soon as the upstream's script has failed, so that its reason is shown instead of a deadline. */
async function failureOf(run: CaseRun): Promise<void> {
  await run.changed.until(() => run.failure !== undefined);
  throw run.failure;
}

async function withinDeadline(deadlineMs: number, work: Promise<void>, describe: () => string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not ended within ${deadlineMs} ms; ${describe()}`)), deadlineMs);
  });
  try {
    await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

function describeState(client: RawClient, run: CaseRun): string {
  const shown = (text: string) =>
    JSON.stringify(text.length > 600 ? `${text.slice(0, 600)}... (${text.length})` : text);
  const upstream = run.upstreamConnections.map(({ ending, raw }) => `${ending} ${shown(raw)}`).join(' | ');
  return `client ${client.ending} ${shown(client.raw)}; upstream ${upstream || 'not reached'}; notes ${run.notes.join(', ')}`;
}
