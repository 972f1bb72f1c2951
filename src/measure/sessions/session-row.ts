/** One row of the session table, and its fields in the state file. */
import type { SavedFields, SavedRecord } from '../../state/saved-record.ts';
import type { ClaimEntry } from './claim-index.ts';
import { isLasting } from './credentials.ts';
import type { Session } from './session.ts';

export interface SessionRow {
  readonly session: Session;
  key: string;
  /** Oldest first. */
  readonly tokens: string[];
  /** Set while the session or its name is unverified. */
  claimEntry: ClaimEntry | undefined;
}

/** The row without its session. Only for a row whose key is lasting; tokens that include a password are left out. */
export function saveRow({ key, tokens, claimEntry }: SessionRow): SavedFields {
  return {
    key,
    tokens: tokens.filter(isLasting),
    logins: claimEntry?.isNameOnly === false ? claimEntry.logins : undefined,
  };
}

/** The saved key and tokens that lead to a session; `logins` of an unverified one. */
export function loadRow(saved: SavedRecord) {
  return {
    key: saved.textOrThrow('key'),
    tokens: saved.texts('tokens'),
    logins: saved.has('logins') ? saved.texts('logins') : undefined,
  };
}
