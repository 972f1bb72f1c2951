/** What every answer of the monitoring port says to browsers, those to unreadable requests included. */
export const SECURITY_FIELDS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  // An answer is data: whoever gets it to be shown as a page gets an empty one.
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  // Addresses may hold session ids.
  'referrer-policy': 'no-referrer',
  // Other origins can neither embed nor read it. There is no CORS here, so that they cannot fetch it either.
  'cross-origin-resource-policy': 'same-origin',
};
