import type { SessionEntry } from '../measure/sessions/session.ts';

/** A JSON array of sessions, in pieces of one session each; joined, it is what `JSON.stringify` gives, indented by two blanks if `pretty`. */
export function* renderSessions(entries: Iterable<SessionEntry>, pretty: boolean): Generator<string, void, undefined> {
  let before = '[';
  for (const entry of entries) {
    yield pretty ? `${before}\n  ${toIndentedText(entry)}` : before + JSON.stringify(entry);
    before = ',';
  }
  if (before === '[') yield '[]';
  else yield pretty ? '\n]' : ']';
}

/** Line ends within texts are escaped, so these are all between fields. */
function toIndentedText(entry: SessionEntry): string {
  return JSON.stringify(entry, undefined, 2).replaceAll('\n', '\n  ');
}
