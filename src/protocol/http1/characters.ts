/** Character classes of RFC 9110 §5.5, §5.6.2 as look-up tables: heads are scanned byte by byte on the hot path. */
export const TAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;

function tableOf(isMember: (code: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (isMember(code) ? 1 : 0));
}

const TOKEN_MARKS = "!#$%&'*+-.^_`|~";

function isAlphanumeric(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}

/** `tchar`, RFC 9110 §5.6.2. */
export const TOKEN = tableOf((code) => isAlphanumeric(code) || TOKEN_MARKS.includes(String.fromCharCode(code)));

/** Characters of a field value: visible characters, obs-text, space and tab (RFC 9110 §5.5). */
export const FIELD_VALUE = tableOf((code) => code === TAB || (code >= SPACE && code !== 0x7f));

/** Characters of a request-target, without `#`, which none may contain (RFC 9112 §3.2). Above ASCII the server decides. */
export const TARGET = tableOf((code) => code > SPACE && code !== 0x7f && code !== 0x23);

/** Value of a hexadecimal digit, or 255. */
export const HEX_VALUE = Uint8Array.from({ length: 256 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(value) ? 255 : value;
});

/** Whether `text` has the lower-case `word` at `start`, in any letter case. */
export function isWordAt(text: string, start: number, word: string): boolean {
  for (let i = 0; i < word.length; i += 1) {
    const code = text.charCodeAt(start + i);
    const lower = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
    if (lower !== word.charCodeAt(i)) return false;
  }
  return true;
}

/** As `isWordAt`, in bytes. */
export function isWordIn(bytes: Uint8Array, start: number, word: string): boolean {
  for (let i = 0; i < word.length; i += 1) {
    const code = bytes[start + i] as number;
    const lower = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
    if (lower !== word.charCodeAt(i)) return false;
  }
  return true;
}

/**
 * Offset just past the first empty line whose last byte lies in `bytes` from `from + 3` to `to`; -1 without one. Skips
 * text four bytes at a time: 64 KiB of line ends would take `indexOf` 1.1 ms instead of 0.07 ms.
 */
export function findHeadEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from + 3;
  while (at < to) {
    const byte = bytes[at];
    if (byte === LF) {
      if (bytes[at - 1] === CR && bytes[at - 2] === LF && bytes[at - 3] === CR) return at + 1;
      // It may be the first of the two.
      at += 2;
    } else if (byte === CR) at += 1;
    else at += 4;
  }
  return -1;
}
