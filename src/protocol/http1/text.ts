/**
 * A copy of `text` that shares no memory with it, e.g. for a path or a name that outlives the head it was read from.
 *
 * V8 makes a `slice` of 13 characters or more a view into its parent, and a concatenation a tree of such views. One
 * path of 60 bytes kept in a map would keep its whole head of up to 16 KiB alive, credentials and cookies included. A
 * round trip through bytes is guaranteed to copy, whatever the engine optimises. It costs about 0.2 µs, so use it for
 * text that is kept, not for each call.
 */
export function detached(text: string): string {
  // Heads are latin1 (one byte for each character); only text decoded later, e.g. a name in UTF-8, may be wider.
  const encoding = WIDE.test(text) ? 'utf16le' : 'latin1';
  return Buffer.from(text, encoding).toString(encoding);
}

const WIDE = /[^\0-\xff]/;

/** Up to this length, writing latin1 text costs less than writing a buffer made for it. */
export const MAX_TEXT_BYTES = 4_096;
