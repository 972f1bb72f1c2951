/** The reference tokens of a JSON Pointer, unescaped: `/a~1b/0` is `['a/b', '0']`. RFC 6901 §3. */
export type JsonPointer = readonly string[];

export const MAX_POINTER_TOKENS = 32;

/** Reads a pointer; undefined for an invalid one, for the empty pointer, and for one that is too deep. */
export function parsePointer(text: string): JsonPointer | undefined {
  if (!POINTER.test(text)) return undefined;
  const tokens = text
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  return tokens.length > MAX_POINTER_TOKENS ? undefined : tokens;
}

/**
 * The value that the pointer names in a parsed JSON value; undefined if there is none. It finds only what the JSON
 * holds, never other properties of a JavaScript object or array, such as `constructor` or `length`. RFC 6901 §4.
 */
export function resolvePointer(value: unknown, pointer: JsonPointer): unknown {
  let current = value;
  for (const token of pointer) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, token)) return undefined;
    if (Array.isArray(current) && !ARRAY_INDEX.test(token)) return undefined;
    current = (current as Readonly<Record<string, unknown>>)[token];
  }
  return current;
}

const POINTER = /^(?:\/(?:[^~/]|~[01])*)+$/;
const ARRAY_INDEX = /^(?:0|[1-9]\d*)$/;
