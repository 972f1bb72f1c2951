/** Readers of the monitoring port, and their roles. */

/** `metrics` sees everything but user names, addresses and session ids; `sessions` sees those as well. */
export const ROLES = ['metrics', 'sessions'] as const;

export type Role = (typeof ROLES)[number];

/** The owner of a right credential of any kind. */
export interface Reader {
  readonly name: string;
  readonly role: Role;
}

export function covers(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

export const NAME_FORM = 'a name of 1 to 64 of the characters A-Z a-z 0-9 . _ @ -';

/** No colon, which ends the name in a line and in Basic credentials (RFC 7617 §2), and nothing to forge log lines. */
export function isName(text: string): boolean {
  return /^[A-Za-z0-9._@-]{1,64}$/.test(text);
}

export function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}
