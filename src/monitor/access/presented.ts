/**
 * Parses credentials from the `Authorization` field: Basic (RFC 7617) or Bearer (RFC 6750). It avoids regular
 * expressions, which would keep the last credential as `RegExp.input`.
 */
import { decodeCredential } from '../../protocol/http1/text.ts';

export type Credential =
  | { readonly kind: 'password'; readonly name: string; readonly password: string }
  | { readonly kind: 'token'; readonly token: string };

const COLON = 0x3a;

/** Undefined without a field, for another scheme, and for a malformed value: none of these can be a guess. */
export function parseAuthorization(field: string | undefined): Credential | undefined {
  if (field === undefined) return undefined;
  const blankAt = field.indexOf(' ');
  if (blankAt === -1) return undefined;
  const value = field.slice(blankAt + 1).trim();
  if (value === '') return undefined;
  switch (field.slice(0, blankAt).toLowerCase()) {
    case 'basic':
      return parseBasic(value);
    case 'bearer':
      return { kind: 'token', token: value };
    default:
      return undefined;
  }
}

/**
 * Normalizes a password to the form that is hashed and compared. Most clients encode non-ASCII letters as UTF-8, old
 * ones as latin1, and Unicode may write one letter in two ways (RFC 8265 §4.2 asks for NFC).
 */
export function normalizePassword(bytes: Uint8Array): string {
  return decodeCredential(bytes).normalize('NFC');
}

function parseBasic(value: string): Credential | undefined {
  const bytes = Buffer.from(value, 'base64');
  const colonAt = bytes.indexOf(COLON);
  if (colonAt === -1) return undefined;
  const password = normalizePassword(bytes.subarray(colonAt + 1));
  return { kind: 'password', name: decodeCredential(bytes.subarray(0, colonAt)), password };
}
