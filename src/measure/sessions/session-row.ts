/** One row of the session table, and its form in the state file. */
import type { ArchiveReader } from '../../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../../state/archive/archive-writer.ts';
import type { Claimed } from './claim-index.ts';
import { isLasting } from './credentials.ts';
import type { SessionLead } from './known-token.ts';
import { loadToken, saveToken } from './saved-token.ts';
import type { Session } from './session.ts';

export interface Row {
  readonly session: Session;
  readonly lead: SessionLead;
  key: string;
  /** Oldest first. */
  readonly tokens: string[];
  /** Set while the session or its name is unverified. */
  claimed: Claimed | undefined;
}

/** The saved key and tokens that lead to a session. */
export interface SavedRow {
  readonly key: string;
  readonly tokens: readonly string[];
  /** Logins of an unverified session; undefined for others. */
  readonly logins: readonly string[] | undefined;
}

/**
 * Writes the row without its session. Only for a row whose key is lasting; tokens that include a password are left out.
 */
export function saveRow(out: ArchiveWriter, { key, tokens, claimed }: Row): void {
  saveToken(out, key);
  saveTokens(out, tokens.filter(isLasting));
  const isClaim = claimed?.isNameOnly === false;
  out.flag(isClaim);
  if (isClaim) saveTokens(out, claimed.logins);
}

export function loadRow(input: ArchiveReader): SavedRow {
  return { key: loadToken(input), tokens: loadTokens(input), logins: input.flag() ? loadTokens(input) : undefined };
}

function saveTokens(out: ArchiveWriter, tokens: readonly string[]): void {
  out.count(tokens.length);
  for (const token of tokens) saveToken(out, token);
}

function loadTokens(input: ArchiveReader): string[] {
  const tokens: string[] = [];
  // Reads one by one, so that a damaged count fails at the end of the file.
  for (let left = input.count(); left > 0; left -= 1) tokens.push(loadToken(input));
  return tokens;
}
