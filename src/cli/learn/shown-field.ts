import type { NameNode } from './name-node.ts';
import type { DataType, Field, Tally } from './tally.ts';

export interface ShownField {
  /** JSON Pointer into data; `{}` is any key, `{n}` any entry of a list. */
  readonly pointer: string;
  readonly types: readonly DataType[];
  /** The field is there whenever its object is. */
  readonly isAlways: boolean;
  /** Its key suggests the name of a call or of an object. */
  readonly isName: boolean;
}

/** The fields in document order. Data that is always an object is no field itself. */
export function toFields({ root, count }: Tally): ShownField[] {
  return toFieldsBelow(root, '', count).filter(({ pointer, types }) => pointer !== '' || types.join() !== 'object');
}

function toFieldsBelow({ value, children }: NameNode<Field>, pointer: string, most: number): ShownField[] {
  if (value === undefined) return [];
  const types = [...value.types].sort();
  const isText = types.includes('text') && types.every((type) => type === 'text' || type === 'null');
  const isName = isText && !pointer.includes('{') && NAME_KEY.test(pointer);
  return [
    { pointer, types, isAlways: value.times >= most, isName },
    ...[...children].flatMap(([key, child]) => toFieldsBelow(child, `${pointer}/${child.name ?? key}`, value.times)),
  ];
}

const NAME_KEY =
  /(?:name|rpc|method|function|procedure|operation|command|action|event|interface|iface|module|component|service|task|object|tag|item|point|signal|topic)(?:_?id)?$/i;
