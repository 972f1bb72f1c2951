/**
 * Messages in HTTP requests: as the body of a POST (`long-polling`) or in the query of a GET (`callback-polling`).
 * The Bayeux Protocol 1.0, "The long-polling request messages" and "The callback-polling request messages".
 */
import { readParameters } from './parameters.ts';

/** Called by the response when the request names no function. */
export const DEFAULT_CALLBACK = 'jsonpcallback';

/** Longest form that is read: taking one apart costs more than JSON does, and only old clients send them. */
const MAX_FORM_CHARS = 65_536;

/**
 * The JSON texts of a POST's body, decoded as UTF-8; each is a message or an array of them, see `MessageBatches`. `contentType` is the
 * field's value, parameters and all. Empty: the body holds none.
 *
 * JSON, or form-encoded with one or more parameters `message`. The type only says what is tried first: there are servers that go by
 * it, and servers that never look at it.
 */
export function toRequestTexts(contentType: string | undefined, body: string): readonly string[] {
  if (!isForm(contentType)) return isJson(body) ? [body] : toFormTexts(body);
  const texts = toFormTexts(body);
  return texts.length === 0 && isJson(body) ? [body] : texts;
}

/** A request by callback-polling. */
export interface CallbackRequest {
  /** The function that the response calls, e.g. `_cometd_jsonp_0`; as the client wrote it, not checked. */
  readonly callback: string;
  /** As `toRequestTexts`; not empty. */
  readonly texts: readonly string[];
}

/** The JSON texts in the query of a GET: `jsonp=cb&message=%5B...%5D`, decoded as UTF-8. Undefined: none in it. */
export function parseCallbackQuery(query: string): CallbackRequest | undefined {
  const [texts = [], callbacks = []] = readParameters(query, ['message', 'jsonp']);
  return texts.length === 0 ? undefined : { callback: callbacks[0] || DEFAULT_CALLBACK, texts };
}

function toFormTexts(body: string): readonly string[] {
  return body.length > MAX_FORM_CHARS ? [] : (readParameters(body, ['message'])[0] ?? []);
}

/** Arrays and objects are all that Bayeux has. */
function isJson(body: string): boolean {
  return JSON_START.test(body);
}

function isForm(contentType: string | undefined): boolean {
  return contentType !== undefined && FORM.test(contentType);
}

const JSON_START = /^[ \t\r\n]*[[{]/;
const FORM = /^[ \t]*application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;
