/** Messages in HTTP requests: the body of a POST (`long-polling`), or the query of a GET (`callback-polling`). */
import { readParameters } from './parameters.ts';

/** The function that the response calls when the request names none. */
export const DEFAULT_CALLBACK = 'jsonpcallback';

/** Longest form that is read: parsing a form costs more than parsing JSON, and only old clients send forms. */
const MAX_FORM_CHARS = 65_536;

/**
 * The JSON texts of a POST's body, each a message or an array of them; see `MessageBatches`. It is JSON, or
 * form-encoded with parameters `message`. The type only decides which is tried first: some servers rely on it, others
 * ignore it.
 */
export function selectRequestTexts(contentType: string | undefined, body: string): readonly string[] {
  if (!isForm(contentType)) return isJson(body) ? [body] : readForm(body);
  const texts = readForm(body);
  return texts.length === 0 && isJson(body) ? [body] : texts;
}

export interface CallbackRequest {
  /** The function that the response calls, e.g. `_cometd_jsonp_0`; as the client wrote it, not validated. */
  readonly callback: string;
  /** As `selectRequestTexts`; never empty. */
  readonly texts: readonly string[];
}

/** The JSON texts in the query of a GET: `jsonp=cb&message=%5B...%5D`, decoded as UTF-8. Undefined: no `message`. */
export function parseCallbackQuery(query: string): CallbackRequest | undefined {
  const [texts = [], callbacks = []] = readParameters(query, ['message', 'jsonp']);
  return texts.length === 0 ? undefined : { callback: callbacks[0] || DEFAULT_CALLBACK, texts };
}

function readForm(body: string): readonly string[] {
  return body.length > MAX_FORM_CHARS ? [] : (readParameters(body, ['message'])[0] ?? []);
}

/** Bayeux has only arrays and objects. */
function isJson(body: string): boolean {
  return JSON_START.test(body);
}

function isForm(contentType: string | undefined): boolean {
  return contentType !== undefined && FORM.test(contentType);
}

const JSON_START = /^[ \t\r\n]*[[{]/;
const FORM = /^[ \t]*application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;
