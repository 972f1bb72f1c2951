/**
 * What the two ends of one run saw, as plain values to be compared: `observe` takes it down, `toComparable` leaves out what
 * a data path may change.
 */
import { createHash } from 'node:crypto';
import type { CaseRun, RawClient } from './ends.ts';
import type { FramingKind, Message } from './message-reader.ts';

export interface MessageSeen {
  readonly startLine: string;
  readonly fields: readonly string[];
  readonly framing?: FramingKind;
  readonly chunkLines?: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
  readonly isComplete: boolean;
}

export interface Observation {
  readonly responses: readonly MessageSeen[];
  readonly clientTunnel: string;
  /**
   * `open` when the script ended with the connection up; `closed` when every response before the end was whole; `cut` else.
   * FIN and RST are not distinguished: which of them comes with bytes still under way is the kernel's timing. A body that only
   * the end delimits is whole after a FIN and cut after an RST.
   */
  readonly clientEnding: 'open' | 'closed' | 'cut';
  readonly requests: readonly MessageSeen[];
  readonly upstreamTunnel: string;
  readonly upstreamConnections?: number;
  readonly notes: readonly string[];
  /** All bytes (up to a MiB for each connection) at each end. */
  readonly raw?: { readonly client: string; readonly upstream: readonly string[] };
}

export function observe(client: RawClient, run: CaseRun): Observation {
  const withoutToken = (text: string) => text.replaceAll(run.token, '{case-token}');
  const see = (message: Message): MessageSeen => ({
    startLine: withoutToken(message.startLine),
    fields: message.fields.map(withoutToken),
    framing: message.framing,
    chunkLines: [...message.chunkLines],
    body: withoutToken(message.body.describe()),
    trailers: [...message.trailers],
    isComplete: message.isComplete,
  });
  const isWhole = client.responses.every((response) => response.isComplete) && client.problem === undefined;
  return {
    responses: client.responses.map(see),
    clientTunnel: shortened(withoutToken(client.tunnel)),
    clientEnding: client.ending === 'open' ? 'open' : isWhole ? 'closed' : 'cut',
    requests: run.requests.map(see),
    upstreamTunnel: shortened(run.upstreamConnections.map(({ tunnel }) => withoutToken(tunnel)).join('')),
    upstreamConnections: run.upstreamConnections.length,
    // Only the order within one side is the case's; between the sides it is a race.
    notes: run.notes.toSorted((a, b) => sideOf(a).localeCompare(sideOf(b))),
    raw: {
      client: shortened(withoutToken(client.raw)),
      upstream: run.upstreamConnections.map(({ raw }) => shortened(withoutToken(raw))),
    },
  };
}

const SHOWN_CHARACTERS = 100_000;

/** Long octets as their checksum: showing how a MiB differs from another takes minutes. */
function shortened(octets: string): string {
  if (octets.length <= SHOWN_CHARACTERS) return octets;
  return `${octets.length} octets, sha256 ${createHash('sha256').update(octets, 'latin1').digest('hex')}`;
}

/** Of a note such as `client: closed 1000`. */
function sideOf(note: string): string {
  return note.slice(0, note.indexOf(':'));
}

/** `bytes`: all octets the same. `fields`: the same but for the added request fields. `meaning`: as RFC 9110 §3.7 lets a proxy forward. */
export type Exactness = 'bytes' | 'fields' | 'meaning';

/** What `seen` and the direct observation must agree in; `direct` tells which fields were there without the sidecar. */
export function toComparable(seen: Observation, direct: Observation, exactness: Exactness): Observation {
  if (exactness === 'bytes') return seen;
  const { raw: _, ...rest } = seen;
  const requests = seen.requests.map((request, index) =>
    withoutAdded(request, direct.requests[index], ADDED_TO_REQUESTS),
  );
  if (exactness === 'fields') return { ...rest, requests };
  const { upstreamConnections: __, ...meaning } = rest;
  return {
    ...meaning,
    requests: requests.map(toMeaning),
    responses: seen.responses.map((response, index) =>
      toMeaning(withoutAdded(response, direct.responses[index], ADDED_TO_RESPONSES)),
    ),
    clientEnding: seen.clientEnding === 'cut' ? 'cut' : 'open',
  };
}

const ADDED_TO_REQUESTS: ReadonlySet<string> = new Set(['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host']);
/** RFC 9110 §6.6.1: a recipient with a clock adds the date that the origin left out. */
const ADDED_TO_RESPONSES: ReadonlySet<string> = new Set(['date']);
/** Of one connection only (RFC 9110 §7.6.1); Transfer-Encoding likewise, its effect is in body, trailers and completeness. */
const OF_ONE_HOP: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding']);

/** Leaves out fields that may be added, unless the peer sent such a field itself. */
function withoutAdded(
  message: MessageSeen,
  original: MessageSeen | undefined,
  added: ReadonlySet<string>,
): MessageSeen {
  const sent = new Set(original?.fields.map(nameOf));
  return { ...message, fields: message.fields.filter((line) => !added.has(nameOf(line)) || sent.has(nameOf(line))) };
}

function toMeaning(message: MessageSeen): MessageSeen {
  const { framing: _, chunkLines: __, ...rest } = message;
  return {
    ...rest,
    // The version, too, is of one hop (RFC 9110 §6.2).
    startLine: message.startLine.replace(/HTTP\/1\.0/, 'HTTP/1.1'),
    fields: message.fields.filter((line) => !OF_ONE_HOP.has(nameOf(line))).map(withPlainBlanks),
    trailers: message.trailers.map(withPlainBlanks),
  };
}

function nameOf(line: string): string {
  return line.slice(0, line.indexOf(':')).toLowerCase();
}

/** Blanks around a value are not part of it (RFC 9110 §5.5). */
function withPlainBlanks(line: string): string {
  const colon = line.indexOf(':');
  return `${line.slice(0, colon)}: ${line.slice(colon + 1).trim()}`;
}
