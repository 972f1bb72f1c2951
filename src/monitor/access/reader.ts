/** Who may read on the monitoring port, and what. */

/** `metrics` sees everything but user names, addresses and session ids; `sessions` sees those as well. */
export const ROLES = ['metrics', 'sessions'] as const;

export type Role = (typeof ROLES)[number];

/** Somebody whose credential was right, whatever kind it was of. */
export interface Reader {
  readonly name: string;
  readonly role: Role;
}

/** Whether `role` is enough for what needs `needed`. */
export function covers(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** What a name is made of, in words. */
export const NAME_FORM = 'a name of 1 to 64 of the characters A-Z a-z 0-9 . _ @ -';

/** No colon, which ends the name in a line and in Basic credentials (RFC 7617 §2); nothing that could forge a line of a log. */
export function isName(text: string): boolean {
  return /^[A-Za-z0-9._@-]{1,64}$/.test(text);
}

export function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}
