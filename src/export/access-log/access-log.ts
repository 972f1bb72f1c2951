/**
 * The access log: one line of JSON for each call, in its own file. The recorder reports ended calls to it
 * (measure/record/call-observer.ts), and it writes those that the configuration selects. It must not know sockets
 * or statistics. docs/access-log.md has the fields.
 */
import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import { type CallObserver, type EndedCall, isError, toEpochMs } from '../../measure/record/call-observer.ts';
import { type LineCounts, LineFile } from './line-file.ts';

/** The `accessLog` section when its `file` is set. */
export type AccessLogOptions = Config['accessLog'] & { readonly file: string };

const NS_PER_US = 1_000;
const US_PER_S = 1_000_000;
const MAX_NAME_CHARS = 512;
/** Any other method is logged as `(other)`: the client chooses that text, and it may contain a secret. */
const METHODS: ReadonlySet<string> = new Set('GET HEAD POST PUT DELETE PATCH OPTIONS CONNECT TRACE'.split(' '));
const TRACE_ID = /^[0-9a-f]{2}-([0-9a-f]{32})-/;

export class AccessLog implements CallObserver {
  readonly wantsBytes = true;
  readonly file: LineFile;
  readonly #clock: Clock;
  #options: AccessLogOptions;

  constructor(options: AccessLogOptions, clock: Clock, logger: Logger, counts: LineCounts) {
    this.#options = options;
    this.#clock = clock;
    this.file = new LineFile(options, counts, logger);
  }

  get wantsOthers(): boolean {
    return this.#options.others;
  }

  callEnded(call: EndedCall): void {
    if (this.#isWanted(call)) {
      const time = new Date(toEpochMs(this.#clock, call.endedNs)).toISOString();
      this.file.write(formatAccessLine(call, time, this.#options.users));
    }
  }

  /** The caller has to read `wantsOthers` again. */
  reconfigure(options: AccessLogOptions): void {
    this.#options = options;
    this.file.reconfigure(options);
  }

  #isWanted(call: EndedCall): boolean {
    const { sample, slowerThanMs, errorsAlways } = this.#options;
    if (errorsAlways && isError(call)) return true;
    if (slowerThanMs > 0 && call.durationNs <= slowerThanMs * NS_PER_MS) return false;
    return sample >= 1 || Math.random() < sample;
  }
}

/**
 * One line of JSON with its line feed, e.g.
 * `{"time":"2026-03-01T08:00:00.123Z","kind":"rpc","name":"E.Demo.TestInOut",...}`; docs/access-log.md has all
 * fields. Unknown values are null.
 */
export function formatAccessLine(call: EndedCall, time: string, hasUsers: boolean): string {
  const { kind, name, session, firstByteNs } = call;
  const user = session?.userName ?? null;
  // JSON.stringify leaves out undefined fields.
  const fields = {
    time,
    kind,
    name: shorten(name) || null,
    application: call.application ?? null,
    over: call.isComet ? 'comet' : 'http',
    method: call.method === undefined || METHODS.has(call.method) ? (call.method ?? null) : '(other)',
    status: call.status || null,
    outcome: call.outcome,
    error: call.errorCode ?? null,
    duration: toSeconds(call.durationNs),
    client_wait: toSeconds(call.clientWaitNs),
    first_byte: firstByteNs === 0 ? null : toSeconds(firstByteNs - call.beganNs),
    requestBytes: call.requestBytes ?? null,
    responseBytes: call.responseBytes ?? null,
    session: session?.id ?? null,
    user: hasUsers ? user : undefined,
    verified: !hasUsers ? undefined : user === null ? null : session?.isVerified,
    remoteAddress: hasUsers ? call.remoteAddress : undefined,
    trace: parseTraceId(call.ownTraceparent ?? call.traceparent),
  };
  return `${JSON.stringify(fields)}\n`;
}

function shorten(name: string): string {
  return name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name;
}

/** To the microsecond. */
function toSeconds(durationNs: number): number {
  return Math.round(Math.max(0, durationNs) / NS_PER_US) / US_PER_S;
}

/** W3C Trace Context §3.2.2. */
function parseTraceId(traceparent = ''): string | null {
  return TRACE_ID.exec(traceparent)?.[1] ?? null;
}
