/**
 * Comet messages: what The Bayeux Protocol 1.0 (docs.cometd.org) puts on the wire. This folder knows texts only: no
 * sockets, no HTTP, no rules, no sessions.
 */

/** One Bayeux message, request or reply; only the fields that the sidecar uses. A field of the wrong type is absent. */
export interface BayeuxMessage {
  /** E.g. `/meta/connect`, `/d2/object/H.Demo`. */
  readonly channel: string;
  /** Links a reply to its request. A number becomes text: a peer may send `2` as well as `"2"`. */
  readonly id?: string | undefined;
  readonly clientId?: string | undefined;
  /** In replies only. */
  readonly successful?: boolean | undefined;
  /** Undefined: no data; null: the data is null. */
  readonly data?: unknown;
  /** Channels and channel patterns of `/meta/subscribe` and `/meta/unsubscribe`; a single one becomes a list. */
  readonly subscription?: readonly string[] | undefined;
  /** E.g. `long-polling`, in `/meta/connect`. */
  readonly connectionType?: string | undefined;
  /** In `/meta/handshake`. */
  readonly supportedConnectionTypes?: readonly string[] | undefined;
  readonly ext?: unknown;
  /** E.g. `402::session_unknown`; see `isUnknownClient`. Servers also send `''` with success. */
  readonly error?: string | undefined;
  /** Of the advice for all transports: how long to wait before the next connect; negative: do not connect again. */
  readonly adviceIntervalMs?: number | undefined;
}

/**
 * One message or an array of them, `[]` for an empty array. Undefined: not Bayeux (not JSON, no object or array, no
 * item with a channel). Items without a channel are left out if another has one: servers answer such an item with an
 * error, and serve the rest. For text of a peer, which may be long or hostile, use `MessageBatches`.
 */
export function parseMessages(text: string): readonly BayeuxMessage[] | undefined {
  const parsed = parseJson(text);
  if (!Array.isArray(parsed)) {
    const message = readMessage(parsed);
    return message === undefined ? undefined : [message];
  }
  const messages = readItems(parsed);
  return messages.length === 0 && parsed.length > 0 ? undefined : messages;
}

/** The messages of an array, without items that have no channel; undefined: not a JSON array. */
export function parseArray(text: string): readonly BayeuxMessage[] | undefined {
  const parsed = parseJson(text);
  return Array.isArray(parsed) ? readItems(parsed) : undefined;
}

function readItems(items: readonly unknown[]): readonly BayeuxMessage[] {
  const messages: BayeuxMessage[] = [];
  for (const item of items) {
    const message = readMessage(item);
    if (message !== undefined) messages.push(message);
  }
  return messages;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Bad input from a peer is a value here. The error is dropped because its text must not reach a log.
    return undefined;
  }
}

/** Copies known fields only: never `__proto__`. All messages have all fields: one shape keeps their readers fast. */
function readMessage(value: unknown): BayeuxMessage | undefined {
  if (!isObject(value) || typeof value.channel !== 'string') return undefined;
  return {
    channel: value.channel,
    id: toId(value.id),
    clientId: readText(value.clientId),
    successful: typeof value.successful === 'boolean' ? value.successful : undefined,
    data: value.data,
    subscription: readTexts(value.subscription),
    connectionType: readText(value.connectionType),
    supportedConnectionTypes: readTexts(value.supportedConnectionTypes),
    ext: value.ext,
    error: readText(value.error),
    adviceIntervalMs: isObject(value.advice) ? readNumber(value.advice.interval) : undefined,
  };
}

/** An id as text: strings as they are, numbers as text. Undefined for everything else. */
export function toId(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : readText(value);
}

function readText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function readNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function readTexts(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const META_HANDSHAKE = '/meta/handshake';
export const META_SUBSCRIBE = '/meta/subscribe';
export const META_UNSUBSCRIBE = '/meta/unsubscribe';

/** Channels of the protocol itself: messages there are not distributed to subscribers. */
export function isMeta(channel: string): boolean {
  return channel.startsWith('/meta/');
}

/** Channels between one client and the server, e.g. for calls. */
export function isService(channel: string): boolean {
  return channel.startsWith('/service/');
}

/** `402` of `402::session_unknown`; undefined without a code. */
export function parseErrorCode(error: string | undefined): number | undefined {
  return error !== undefined && CODE.test(error) ? Number(error.slice(0, CODE_CHARS)) : undefined;
}

/**
 * Whether the server does not know the client (any more). CometD sends `402::session_unknown` or `402::Unknown client`,
 * faye `401:<clientId>:Unknown client`. The code alone is not enough: `402:data:Missing required parameter` has it, too.
 */
export function isUnknownClient(error: string | undefined): boolean {
  const code = parseErrorCode(error);
  return (code === 401 || code === 402) && error !== undefined && UNKNOWN.test(error.slice(0, SEARCHED_CHARS));
}

const CODE_CHARS = 3;
const SEARCHED_CHARS = 512;
const CODE = /^\d{3}:/;
const UNKNOWN = /unknown/i;
