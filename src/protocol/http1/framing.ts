/** How the end of a message's body is found (RFC 9112 §6.3). */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' };

export const NO_BODY: Framing = { kind: 'none' };
export const CHUNKED: Framing = { kind: 'chunked' };
export const UNTIL_CLOSE: Framing = { kind: 'until-close' };

export function lengthFraming(bytes: number): Framing {
  return bytes === 0 ? NO_BODY : { kind: 'length', bytes };
}
