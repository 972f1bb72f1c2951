/**
 * Messages in HTTP requests: as the body of a POST (`long-polling`) or in the query of a GET (`callback-polling`).
 * The Bayeux Protocol 1.0, "The long-polling request messages" and "The callback-polling request messages".
 */
import { type BayeuxMessage, MAX_MESSAGES, parseMessages } from './message.ts';
import { readParameters } from './parameters.ts';

/** Called by the response when the request names no function. */
export const DEFAULT_CALLBACK = 'jsonpcallback';

/**
 * The messages of a POST's body, decoded as UTF-8. `contentType` is the field's value, parameters and all. Undefined: not
 * Bayeux, as in `parseMessages`.
 *
 * JSON, or form-encoded with one or more parameters `message`, each a message or an array of them. The type only says
 * what is tried first: there are servers that go by it, and servers that never look at it.
 */
export function parseRequestText(contentType: string | undefined, body: string): readonly BayeuxMessage[] | undefined {
  if (isForm(contentType)) return parseForm(body) ?? parseMessages(body);
  return parseMessages(body) ?? parseForm(body);
}

/** A request by callback-polling. */
export interface CallbackRequest {
  /** The function that the response calls, e.g. `_cometd_jsonp_0`; as the client wrote it, not checked. */
  readonly callback: string;
  readonly messages: readonly BayeuxMessage[];
}

/**
 * The messages in the request-target of a GET: `/app/api/cometd?jsonp=cb&message=%5B...%5D`, latin1, a character for each
 * byte. Undefined: no messages in it.
 */
export function parseCallbackQuery(target: string): CallbackRequest | undefined {
  const queryAt = target.indexOf('?');
  if (queryAt < 0) return undefined;
  const [texts = [], callbacks = []] = readParameters(toUtf8(target.slice(queryAt + 1)), ['message', 'jsonp']);
  const messages = parseAll(texts);
  return messages === undefined ? undefined : { callback: callbacks[0] || DEFAULT_CALLBACK, messages };
}

function parseForm(body: string): readonly BayeuxMessage[] | undefined {
  return parseAll(readParameters(body, ['message'])[0] ?? []);
}

/** The messages of all texts, in order; undefined when there is no text, or one that is not Bayeux. */
function parseAll(texts: readonly string[]): readonly BayeuxMessage[] | undefined {
  const [first] = texts;
  if (first === undefined) return undefined;
  if (texts.length === 1) return parseMessages(first);
  const all: BayeuxMessage[] = [];
  for (const text of texts) {
    const messages = parseMessages(text, MAX_MESSAGES - all.length);
    if (messages === undefined) return undefined;
    for (const message of messages) all.push(message);
  }
  return all;
}

function isForm(contentType: string | undefined): boolean {
  return contentType !== undefined && FORM.test(contentType);
}

/** Escapes are the rule in a query; bytes that came raw are UTF-8, too. */
function toUtf8(query: string): string {
  return RAW_BYTES.test(query) ? Buffer.from(query, 'latin1').toString('utf8') : query;
}

const FORM = /^[ \t]*application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;
const RAW_BYTES = /[\x80-\xff]/;
