/** Security fields of every answer on the monitoring port, including answers to unreadable requests. */
export const SECURITY_FIELDS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  // An answer is data: a browser that shows it as a page shows an empty one.
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  // URLs may contain session ids.
  'referrer-policy': 'no-referrer',
  // Other origins cannot embed or read it; without CORS they cannot fetch it either.
  'cross-origin-resource-policy': 'same-origin',
};
