/** Formats numbers and strings as Jackson does in Java, so that answers equal those of the original library. */

/**
 * A double as `Double.toString` of Java writes it, always with a fraction: `21.0`, `1.0E7`, `9.241490000000001E-4`,
 * `-0.0`. JSON has no NaN and no infinities. As in Jackson they become quoted strings: `"NaN"`, `"Infinity"`,
 * `"-Infinity"`.
 *
 * The digits are JavaScript's: the shortest that read back as the same number. JDK 19 and later do the same; earlier
 * ones write a few extreme numbers longer (2.0E23 as 1.9999999999999998E23, 5.0E-324 as 4.9E-324).
 */
export function formatJavaDouble(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e7) return Number.isInteger(value) ? `${value}.0` : String(value);
  const text = value.toExponential();
  const end = text.indexOf('e');
  const digits = text.slice(0, end);
  const exponent = text.slice(text.charAt(end + 1) === '+' ? end + 2 : end + 1);
  return `${digits.includes('.') ? digits : `${digits}.0`}E${exponent}`;
}

/** An integer with all its digits. Cuts off a fraction; NaN and infinities become quoted strings. */
export function formatJavaInteger(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  // From 1e21 on, `String` would write an exponent.
  return Number.isSafeInteger(value) ? String(value) : BigInt(Math.trunc(value)).toString();
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what JSON must escape (RFC 8259 §7).
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;
const ALL_ESCAPED = new RegExp(ESCAPED, 'g');
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/**
 * A quoted JSON string as Jackson writes it to a stream: astral characters as two escapes, upper-case digits in
 * escapes, all other characters from space on unchanged. `JSON.stringify` differs in the first two.
 */
export function formatJsonText(text: string): string {
  return ESCAPED.test(text) ? `"${text.replace(ALL_ESCAPED, escapeUnit)}"` : `"${text}"`;
}

function escapeUnit(unit: string): string {
  return SHORT_ESCAPES[unit] ?? `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}
