/**
 * A tree of names: keys of objects, or segments of channels. Names that look like data are folded into one branch,
 * `VARIABLE`, so that no report can show them. In doubt, a name is data.
 */
/** The branch of all names that are data. No name that may be shown has braces or asterisks. */
export const VARIABLE = '{}';

export class NameNode<Value extends { add(other: Value): void }> {
  value: Value | undefined;
  readonly children = new Map<string, NameNode<Value>>();
  /** A special name such as `VARIABLE`, or the name with its numbers replaced: `Tank#`. */
  readonly key: string;
  /** `Tank1`; undefined if there is also a `Tank2`: both are then data. */
  name: string | undefined;
  /** There are too many names, so all of them are data. */
  #isVaried = false;

  constructor(key = '', name = key) {
    this.key = key;
    this.name = name;
  }

  get named(): NameNode<Value>[] {
    return [...this.children.values()].filter(({ key }) => !/^[{*]/.test(key));
  }

  /** The child for a name that may be shown; `VARIABLE` if there are too many. Undefined if `take` finds no room. */
  childOf(name: string, maxNames: number, take: () => boolean): NameNode<Value> | undefined {
    const key = withoutNumbers(name);
    if (!this.children.has(key) && this.children.size >= maxNames) {
      this.#isVaried = true;
      return this.place(VARIABLE, take);
    }
    const child = this.place(key, take, name);
    if (child !== undefined && child.name !== name) child.name = undefined;
    return child;
  }

  /** The child with exactly that key; undefined if there is no room. */
  place(key: string, take: () => boolean, name = key): NameNode<Value> | undefined {
    const known = this.children.get(key);
    if (known !== undefined || !take()) return known;
    const made = new NameNode<Value>(copyOf(key), copyOf(name));
    this.children.set(made.key, made);
    return made;
  }

  /** Moves children to `VARIABLE`: those for which `isData` holds, and names that are too many or too similar. */
  fold(maxNames: number, isData: (name: string, child: NameNode<Value>) => boolean): void {
    const { named } = this;
    const areAll = this.#isVaried || named.length > maxNames;
    for (const child of named) {
      if (!areAll && child.name !== undefined && !isData(child.name, child)) continue;
      this.children.delete(child.key);
      const variable = this.children.get(VARIABLE) ?? new NameNode<Value>(VARIABLE);
      this.children.set(VARIABLE, variable);
      variable.add(child);
    }
  }

  add(other: NameNode<Value>): void {
    this.#isVaried ||= other.#isVaried;
    if (this.name !== other.name) this.name = undefined;
    if (this.value === undefined) this.value = other.value;
    else if (other.value !== undefined) this.value.add(other.value);
    for (const [key, child] of other.children) {
      const own = this.children.get(key);
      if (own === undefined) this.children.set(key, child);
      else own.add(child);
    }
  }
}

/** Copies the text: a slice would keep the text of the whole message in memory. */
function copyOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}

// Names that a programmer gave (`rpcName`, `subscribeObject`) are distinguished from data used as names (`H.Demo`,
// `3f2a91bc`, `P101`). In doubt it is data, because names are shown in a report that may leave the site.

/** Whether an object's key looks like the name of a field, and may be shown. */
export function looksLikeField(key: string): boolean {
  return FIELD.test(key) && countOf(key, DIGITS) <= MAX_DIGITS && !looksRandom(key);
}

/** Whether a channel's segment looks like a word, without the dots in names of objects, and may be shown. */
export function looksLikeWord(segment: string): boolean {
  return WORD.test(segment) && countOf(segment, DIGITS) <= MAX_DIGITS && !looksRandom(segment);
}

/** Whether a text looks generated: ids, hashes, tokens. */
export function looksRandom(text: string): boolean {
  if (UUID.test(text) || text.length > MAX_NAME) return true;
  const digits = countOf(text, DIGITS);
  if (text.length >= 6 && digits / text.length >= 0.4) return true;
  if (text.length < MIN_RANDOM) return false;
  if (digits >= 3 && !text.includes('.')) return true;
  if (text.length >= 10 && countOf(text, CHANGES) > text.length / 3) return true;
  return countOf(text, LETTERS) === text.length && countOf(text, VOWELS) < text.length / 10;
}

/** Two names with the same result differ in their numbers only: `Tank1` and `Tank2`. */
export function withoutNumbers(text: string): string {
  return text.replace(DIGITS_RUN, '#');
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

const MAX_NAME = 40;
const MIN_RANDOM = 8;
const MAX_DIGITS = 2;
const FIELD = /^[\p{L}_$@][\p{L}\p{N}_$-]{0,39}$/u;
const WORD = /^\p{L}[\p{L}\p{N}_-]{0,39}$/u;
const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
const DIGITS = /\p{N}/gu;
const DIGITS_RUN = /\p{N}+/gu;
/** Changes between lower case, upper case and digits; camelCase has few of them. */
const CHANGES = /(?<=\p{Ll})[\p{Lu}\p{N}]|(?<=\p{Lu})[\p{Ll}\p{N}]|(?<=\p{N})\p{L}/gu;
const LETTERS = /[A-Za-z]/g;
const VOWELS = /[aeiouy]/gi;
