import { turns } from '../../support/wire/split-writer.ts';
import { CaseRun, RawClient, type ScriptedUpstream, type Split, type UpstreamScript } from './ends.ts';
import { type Observation, observe } from './observation.ts';
import { playSteps, type Script } from './steps.ts';

/** What the client does, from connecting to the moment at which both ends are looked at. */
export type ClientScript = Script<RawClient>;

/** One case of HTTP over one client connection: both ends are scripted, so what lies between them can be exchanged. */
export interface DataPathCase {
  readonly name: string;
  /** Statuses that the client must see, interim ones included, in order; by default one 200. */
  readonly statuses?: readonly number[];
  readonly upstream: UpstreamScript;
  readonly client: ClientScript;
  /** Facts that hold with and without the sidecar, beside being equal. */
  readonly verify?: (seen: Observation) => void;
  /** True for WebSockets: hop-by-hop fields and the order of field lines may change, and the chunks of a refusal. */
  readonly isIrregular?: boolean;
  /** Why this case cannot be the same without the sidecar: it is played through it only, and `verify` says what holds. */
  readonly sidecarOnly?: string;
  /** For large bodies; the default is `DEADLINE_MS`. */
  readonly deadlineMs?: number;
}

/** A case ends within milliseconds; this is when a hanging one is given up, with what both ends have seen so far. */
export const DEADLINE_MS = 3_000;

/** Plays cases against one upstream, each with a token of its own, so that many may run at once. */
export class CaseRunner {
  readonly #upstream: ScriptedUpstream;
  readonly #ca: string | undefined;
  readonly #settle: () => Promise<void>;

  /**
   * `ca`: authority that the client trusts, so that it speaks TLS. `settle`: see `CaseRun`; by default for a sidecar in this process, whose
   * event loop both ends share.
   */
  constructor(upstream: ScriptedUpstream, ca?: string, settle = () => turns(10)) {
    this.#upstream = upstream;
    this.#ca = ca;
    this.#settle = settle;
  }

  /** Plays `subject` through `port` (the upstream's own, or a sidecar's) and says what both ends saw. Rejects at the deadline. */
  async run(
    subject: DataPathCase,
    port: number,
    split: Split = {},
    deadlineMs = subject.deadlineMs ?? DEADLINE_MS,
  ): Promise<Observation> {
    const run = new CaseRun(this.#upstream.nextToken(), split, this.#settle);
    this.#upstream.add(run, subject.upstream);
    const client = new RawClient(port, run, this.#ca);
    try {
      await withinDeadline(deadlineMs, Promise.race([playSteps(subject.client, client), failureOf(run)]), () =>
        describeState(client, run),
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
  await run.until(() => run.failure !== undefined);
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
