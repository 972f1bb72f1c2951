/** Writes JSON in pieces, so that a long answer is generated while it is sent. Joined, it is one JSON text. */

export type Pieces = Iterable<string>;

/** An array; each element is a JSON text, or the pieces of one. */
export function* jsonArray(elements: Iterable<string | Pieces>): Pieces {
  let before = '[';
  for (const element of elements) {
    if (typeof element === 'string') yield before + element;
    else {
      yield before;
      yield* element;
    }
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

export function* jsonObject(members: Iterable<readonly [name: string, value: Pieces]>): Pieces {
  let before = '{';
  for (const [name, value] of members) {
    yield `${before}${JSON.stringify(name)}:`;
    yield* value;
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}

/** `head`, which is not empty, with one more member at its end. */
export function* jsonWithMember(head: object, name: string, value: Pieces): Pieces {
  yield `${JSON.stringify(head).slice(0, -1)},"${name}":`;
  yield* value;
  yield '}';
}

/** An array with one piece for each entry, as `JSON.stringify` writes it; `pretty` indents by 2. */
export function* renderList(entries: Iterable<object>, pretty: boolean): Pieces {
  let before = '[';
  for (const entry of entries) {
    // Replacing line feeds is safe, since JSON escapes those within strings.
    const text = pretty ? `\n${JSON.stringify(entry, undefined, 2)}`.replaceAll('\n', '\n  ') : JSON.stringify(entry);
    yield before + text;
    before = ',';
  }
  if (before === '[') yield '[]';
  else yield pretty ? '\n]' : ']';
}
