/** A JSON array in pieces of one entry each. Joined, it is the output of `JSON.stringify`; `pretty` indents by 2. */
export function* renderList(entries: Iterable<object>, pretty: boolean): Generator<string, void, undefined> {
  let before = '[';
  for (const entry of entries) {
    yield pretty ? `${before}\n  ${toIndentedText(entry)}` : before + JSON.stringify(entry);
    before = ',';
  }
  if (before === '[') yield '[]';
  else yield pretty ? '\n]' : ']';
}

/** Replacing line feeds is safe, since JSON escapes those within strings. */
function toIndentedText(entry: object): string {
  return JSON.stringify(entry, undefined, 2).replaceAll('\n', '\n  ');
}
