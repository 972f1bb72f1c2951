/** The shape of data: which fields there are, of which types, and in how many messages. Never what is in them. */
import { type Bounds, MAX_DEPTH, MAX_ITEMS, MAX_KEYS, MAX_PARTS } from './bounds.ts';
import { DistinctValues, hashOf } from './distinct.ts';
import { looksLikeField, withoutNumbers } from './looks.ts';

export type DataType = 'text' | 'number' | 'boolean' | 'null' | 'object' | 'list';

/** Values of one field that are told apart. */
export const MAX_DISTINCT = 64;

/** A place in the data: the data itself, a field of an object, or any entry of a list. */
export class ShapeNode {
  /** Messages that have something here; where names were folded, more than that: one message may have had several of them. */
  present = 0;
  /** Messages with null, false or an empty text here. */
  blank = 0;
  readonly types = new Set<DataType>();
  /** Of texts and numbers. */
  readonly distinct = new DistinctValues(MAX_DISTINCT);
  /** Fields with a name that may be shown. */
  readonly fields = new Map<string, ShapeNode>();
  /** All fields whose names are data. */
  anyKey: ShapeNode | undefined;
  /** All entries of lists. */
  items: ShapeNode | undefined;
  /** More names than a programmer would have given: all of them are data. */
  #isKeyedByData = false;
  /** Names without their numbers, of which there were several; at most as many as there could be fields. */
  readonly #numbered = new Set<string>();
  #lastMessage = 0;

  /** Undefined where there is no place for one more field. */
  fieldOf(key: string, bounds: Bounds): ShapeNode | undefined {
    const present = this.fields.get(key);
    if (present !== undefined) return present;
    if (this.#isKeyedByData || !looksLikeField(key) || this.#isNumbered(key, bounds)) return this.#anyKeyOf(bounds);
    if (this.fields.size + this.#numbered.size >= MAX_KEYS) {
      this.#isKeyedByData = true;
      for (const known of [...this.fields.keys()]) this.#fold(known, bounds);
      return this.#anyKeyOf(bounds);
    }
    if (!bounds.takeField()) return undefined;
    const made = new ShapeNode();
    // A short key is no view of the text of a whole message; a longer one would keep all of it.
    this.fields.set(Buffer.from(key, 'utf8').toString('utf8'), made);
    return made;
  }

  itemsOf(bounds: Bounds): ShapeNode | undefined {
    if (this.items === undefined && bounds.takeField()) this.items = new ShapeNode();
    return this.items;
  }

  /** `message`: a number from 1 for each message, so that what a message has several times is counted once. */
  see(type: DataType, isBlank: boolean, message: number): void {
    this.types.add(type);
    if (this.#lastMessage === message) return;
    this.#lastMessage = message;
    this.present += 1;
    if (isBlank) this.blank += 1;
  }

  addAll(other: ShapeNode, bounds: Bounds): void {
    this.present += other.present;
    this.blank += other.blank;
    for (const type of other.types) this.types.add(type);
    this.distinct.addAll(other.distinct);
    for (const [key, node] of other.fields) this.fieldOf(key, bounds)?.addAll(node, bounds);
    if (other.anyKey !== undefined) this.#anyKeyOf(bounds)?.addAll(other.anyKey, bounds);
    if (other.items !== undefined) this.itemsOf(bounds)?.addAll(other.items, bounds);
  }

  /** Looks at the names once more, now that all are known: those that turn out to be data are shown no more. */
  settle(isKnownData: (text: string) => boolean, bounds: Bounds): void {
    const isMap = this.#isMap();
    for (const key of [...this.fields.keys()]) if (isMap || isKnownData(key)) this.#fold(key, bounds);
    for (const node of [...this.fields.values(), this.anyKey, this.items]) node?.settle(isKnownData, bounds);
  }

  /** Whether there is another that differs in its number only; then all of these are data. */
  #isNumbered(key: string, bounds: Bounds): boolean {
    const plain = withoutNumbers(key);
    if (plain === key) return false;
    if (this.#numbered.has(plain)) return true;
    const twin = [...this.fields.keys()].find((known) => withoutNumbers(known) === plain);
    if (twin === undefined) return false;
    this.#numbered.add(plain);
    this.#fold(twin, bounds);
    return true;
  }

  /** Many names, each in few messages, all for the same: `{ "smith": {…} }`, `{ "jones": {…} }`. */
  #isMap(): boolean {
    const nodes = [...this.fields.values()];
    if (nodes.length < MIN_MAP_KEYS || nodes.some(({ present }) => present * 2 > this.present)) return false;
    return new Set(nodes.map(outlineOf)).size === 1;
  }

  #fold(key: string, bounds: Bounds): void {
    const node = this.fields.get(key);
    this.fields.delete(key);
    if (node === undefined) return;
    if (this.anyKey === undefined) this.anyKey = node;
    else this.anyKey.addAll(node, bounds);
  }

  #anyKeyOf(bounds: Bounds): ShapeNode | undefined {
    if (this.anyKey === undefined && bounds.takeField()) this.anyKey = new ShapeNode();
    return this.anyKey;
  }
}

/** What data looks like in all messages of a kind. */
export class Shape {
  readonly root = new ShapeNode();
  readonly #bounds: Bounds;
  #messages = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  get messages(): number {
    return this.#messages;
  }

  /** `data` of one message; undefined where it has none. */
  add(data: unknown): void {
    this.#messages += 1;
    if (data !== undefined) new Walk(this.#bounds, this.#messages).visit(data, this.root, 0);
  }

  addAll(other: Shape): void {
    this.#messages += other.#messages;
    this.root.addAll(other.root, this.#bounds);
  }

  settle(isKnownData: (text: string) => boolean): void {
    this.root.settle(isKnownData, this.#bounds);
  }
}

/** One walk through the data of one message. */
class Walk {
  readonly #bounds: Bounds;
  readonly #message: number;
  #parts = 0;

  constructor(bounds: Bounds, message: number) {
    this.#bounds = bounds;
    this.#message = message;
  }

  visit(value: unknown, node: ShapeNode, depth: number): void {
    this.#parts += 1;
    const type = typeOf(value);
    node.see(type, value === null || value === false || value === '', this.#message);
    if (type === 'text' || type === 'number') node.distinct.add(hashOf(String(value)));
    else if (type === 'list') this.#visitList(value as readonly unknown[], node, depth);
    else if (type === 'object') this.#visitObject(value as Readonly<Record<string, unknown>>, node, depth);
  }

  #visitList(values: readonly unknown[], node: ShapeNode, depth: number): void {
    for (const value of values.slice(0, MAX_ITEMS)) {
      const items = this.#canGoOn(depth) ? node.itemsOf(this.#bounds) : undefined;
      if (items === undefined) return;
      this.visit(value, items, depth + 1);
    }
    if (values.length > MAX_ITEMS) this.#bounds.hit.parts += 1;
  }

  #visitObject(value: Readonly<Record<string, unknown>>, node: ShapeNode, depth: number): void {
    for (const key in value) {
      if (!this.#canGoOn(depth)) return;
      const field = node.fieldOf(key, this.#bounds);
      if (field !== undefined) this.visit(value[key], field, depth + 1);
    }
  }

  #canGoOn(depth: number): boolean {
    if (depth < MAX_DEPTH && this.#parts < MAX_PARTS) return true;
    this.#bounds.hit.parts += 1;
    return false;
  }
}

function typeOf(value: unknown): DataType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'number') return 'number';
  return typeof value === 'boolean' ? 'boolean' : 'object';
}

/** Equal for places that hold the same kind of thing. */
function outlineOf({ types, fields }: ShapeNode): string {
  return `${[...types].sort().join()} ${[...fields.keys()].sort().join()}`;
}

/** Keys from which on an object may be taken for one that is keyed by data. */
const MIN_MAP_KEYS = 3;
