/** Counts how often something happened on a channel, and keeps the shape of its data: keys and types, never values. */
import { type Bounds, MAX_DEPTH, MAX_FIELDS, MAX_ITEMS, MAX_KEYS, MAX_PARTS } from './bounds.ts';
import { looksLikeField, NameNode, VARIABLE } from './name-node.ts';

type DataType = 'text' | 'number' | 'boolean' | 'null' | 'object' | 'list';

/** A place in the data: the data itself, a field of an object, or any entry of a list. */
class Field {
  times = 0;
  readonly types = new Set<DataType>();

  add(other: Field): void {
    this.times += other.times;
    for (const type of other.types) this.types.add(type);
  }
}

interface ShownField {
  /** JSON Pointer into data; `{}` is any key, `{n}` any entry of a list. */
  readonly pointer: string;
  readonly types: readonly DataType[];
  /** Every object at that place has the field. */
  readonly isAlways: boolean;
  /** Its key suggests the name of a call or of an object. */
  readonly isName: boolean;
}

export class Tally {
  count = 0;
  /** How many of these match a rule, built-in or configured. */
  read = 0;
  readonly root = new NameNode<Field>();

  /** `data` of one message; undefined if the message has none. */
  record(data: unknown, bounds: Bounds): void {
    this.count += 1;
    if (data === undefined) return;
    let parts = 0;
    let isWhole = true;
    const take = () => bounds.take('fields', MAX_FIELDS);
    const visit = (value: unknown, node: NameNode<Field>, depth: number): void => {
      parts += 1;
      node.value ??= new Field();
      node.value.times += 1;
      node.value.types.add(typeOf(value));
      if (typeof value !== 'object' || value === null) return;
      const isList = Array.isArray(value);
      if (isList && value.length > MAX_ITEMS) isWhole = false;
      const inner = (isList ? value.slice(0, MAX_ITEMS) : value) as Readonly<Record<string, unknown>>;
      for (const key in inner) {
        if (depth >= MAX_DEPTH || parts >= MAX_PARTS) {
          isWhole = false;
          return;
        }
        const isName = !isList && looksLikeField(key);
        const child = isName ? node.childOf(key, MAX_KEYS, take) : node.place(isList ? ITEM : VARIABLE, take);
        if (child !== undefined) visit(inner[key], child, depth + 1);
      }
    };
    visit(data, this.root, 0);
    if (!isWhole) bounds.skip('parts');
  }

  /** The fields in document order. Data that is always an object is not a field itself. */
  get fields(): readonly ShownField[] {
    return listFields(this.root, '', this.count).filter(
      ({ pointer, types }) => pointer !== '' || types.join() !== 'object',
    );
  }

  add(other: Tally): void {
    this.count += other.count;
    this.read += other.read;
    this.root.add(other.root);
  }

  /** Folds the keys that turn out to be data. Call this when all keys are known. */
  settle(isKnownData: (text: string) => boolean, node = this.root): void {
    const isAny = isMap(node);
    node.fold(MAX_KEYS, (key) => isAny || isKnownData(key));
    for (const child of node.children.values()) this.settle(isKnownData, child);
  }
}

function listFields({ value, children }: NameNode<Field>, pointer: string, most: number): ShownField[] {
  if (value === undefined) return [];
  const types = [...value.types].sort();
  const isText = types.includes('text') && types.every((type) => type === 'text' || type === 'null');
  const isName = isText && !pointer.includes('{') && NAME_KEY.test(pointer);
  return [
    { pointer, types, isAlways: value.times >= most, isName },
    ...[...children].flatMap(([key, child]) => listFields(child, `${pointer}/${child.name ?? key}`, value.times)),
  ];
}

/** Whether an object's keys are data: several keys, each in few messages, all of one shape: `{ "smith": {…} }`. */
function isMap({ named, value }: NameNode<Field>): boolean {
  if (named.length < MIN_MAP_KEYS || named.some((field) => (field.value?.times ?? 0) * 2 > (value?.times ?? 0))) {
    return false;
  }
  const outlines = named.map((field) => [...(field.value?.types ?? []), ...field.children.keys()].sort().join());
  return new Set(outlines).size === 1;
}

function typeOf(value: unknown): DataType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'number') return 'number';
  return typeof value === 'boolean' ? 'boolean' : 'object';
}

const ITEM = '{n}';
const MIN_MAP_KEYS = 3;
const NAME_KEY =
  /(?:name|rpc|method|function|procedure|operation|command|action|event|interface|iface|module|component|service|task|object|tag|item|point|signal|topic)(?:_?id)?$/i;
