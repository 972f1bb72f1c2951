/** Reads fields of a server's JSON without trusting its shape, and without recursion: a missing field is undefined. */
import { attempt } from '../../base/attempt.ts';
import { JvmSourceError } from '../jvm-source.ts';

/** The server sent something that cannot be used. */
export function formatError(message: string): JvmSourceError {
  return new JvmSourceError('D2S_ERR_JVM_FORMAT', message);
}

/** Throws `D2S_ERR_JVM_FORMAT`. `what` is the subject of the message, e.g. `Jolokia's answer`. */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The message of the cause quotes the text.
    throw formatError(`${what} is not JSON; does jvm.http.url name the right server?`);
  }
}

/** For an answer with optional values: undefined if it is missing or cannot be read. */
export function parseOptionalJson(text: string | undefined): unknown {
  return text === undefined ? undefined : attempt(() => JSON.parse(text));
}

/** Undefined if a field is missing or its parent is not an object. */
export function fieldOf(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}

/** The first `limit` fields of an object; none for any other value. */
export function entriesOf(value: unknown, limit: number): readonly (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).slice(0, limit);
}
