/** One session in its table, and how it is written to the state file and read again. */
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
  /** Of an unverified session, or of an unverified name. */
  claimed: Claimed | undefined;
}

/** What leads to a session, as it was saved. */
export interface SavedRow {
  readonly key: string;
  readonly tokens: readonly string[];
  /** Of an unverified session; undefined for others. */
  readonly logins: readonly string[] | undefined;
}

/** Without the session itself. Only for a row whose key is lasting; tokens of passwords are left out. */
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
  // One by one: a damaged count ends at the end of the file.
  for (let left = input.count(); left > 0; left -= 1) tokens.push(loadToken(input));
  return tokens;
}
