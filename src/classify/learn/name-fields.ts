/** Finds the fields that say what is called, or which object a value is of, by how programmers name them. */
import { MAX_DISTINCT, type Shape, type ShapeNode } from './shape.ts';

interface NamedField {
  /** `/call/method`, into data. */
  readonly pointer: string;
  readonly name: string;
  readonly node: ShapeNode;
  /** In every message. */
  readonly isAlways: boolean;
}

/**
 * The template of a call's name, `{/eventName}[.{/interfaceName}].{/rpcName}`; undefined where no field says what is called.
 * What is called is looked for first, then whose it is: that may be missing.
 */
export function toCallName(published: Shape): string | undefined {
  const fields = textFields(published);
  const method =
    firstOf(
      fields.filter(({ node }) => !isUnique(node)),
      METHOD,
    ) ?? lastKind(fields);
  if (method === undefined) return undefined;
  const owner = firstOf(fields, OWNER, method);
  const face = firstOf(fields, INTERFACE, method);
  let template = '';
  let isBegun = false;
  for (const field of [owner, face]) {
    if (field === undefined) continue;
    const reference = `{${field.pointer}}`;
    // A part that vanishes takes its dot with it.
    if (!field.isAlways) template += isBegun ? `[.${reference}]` : `[${reference}.]`;
    else template += isBegun ? `.${reference}` : reference;
    isBegun ||= field.isAlways;
  }
  return `${template}${isBegun ? '.' : ''}{${method.pointer}}`;
}

/** The pointer to the field that names one of at least `minObjects` objects; undefined where none does. */
export function toObjectName(deliveries: Shape, minObjects: number): string | undefined {
  const fields = textFields(deliveries).filter(({ isAlways, node }) => isAlways && node.distinct.size >= minObjects);
  return (firstOf(fields, OBJECT) ?? firstOf(fields, NAME))?.pointer;
}

/** The pointer to what says failure in an answer, from its root: `/data/error`. */
export function toErrorPointer(answers: Shape): string | undefined {
  for (const [key, node] of answers.root.fields) {
    // Where it is never missing and never empty, it would say that every call has failed.
    const isSometimes = node.present - node.blank < answers.messages;
    if (ERROR.test(key) && isSometimes && !node.types.has('number')) return `/data/${key}`;
  }
  return undefined;
}

/** Whether a field's name, or the channel, speaks of SBA. */
export function isSba(published: Shape, words: readonly string[]): boolean {
  return [...words, ...textFields(published).map(({ name }) => name)].some((word) => SBA.test(word));
}

function firstOf(fields: readonly NamedField[], pattern: RegExp, other?: NamedField): NamedField | undefined {
  return fields.find((field) => field !== other && pattern.test(field.name));
}

/** A field with few different texts, for want of one with a telling name: `type`, `kind`, `name`. */
function lastKind(fields: readonly NamedField[]): NamedField | undefined {
  const kinds = fields.filter(({ isAlways, node }) => isAlways && isRepeating(node));
  return firstOf(kinds, KIND) ?? firstOf(kinds, NAME);
}

/** Whether nearly every message has another text there, as ids do. */
function isUnique({ distinct, present }: ShapeNode): boolean {
  return present >= MIN_TO_JUDGE && distinct.size >= 0.95 * Math.min(present, MAX_DISTINCT) && !distinct.isFull;
}

/** Whether the same texts come again, as names do and ids do not. */
function isRepeating({ distinct, present }: ShapeNode): boolean {
  return distinct.size < MAX_DISTINCT && (present < MIN_TO_JUDGE || distinct.size * 2 <= present);
}

/** Fields that hold text only; the nearest to the top first. */
function textFields(shape: Shape): NamedField[] {
  const found: NamedField[] = [];
  let level: { readonly pointer: string; readonly node: ShapeNode }[] = [{ pointer: '', node: shape.root }];
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const next: { pointer: string; node: ShapeNode }[] = [];
    for (const { pointer: outer, node: outerNode } of level) {
      for (const [name, node] of outerNode.fields) {
        const pointer = `${outer}/${name}`;
        const isText = node.types.has('text') && [...node.types].every((type) => type === 'text' || type === 'null');
        const isAlways = node.present - node.blank === shape.messages;
        if (isText) found.push({ pointer, name, node, isAlways });
        next.push({ pointer, node });
      }
    }
    level = next;
  }
  return found;
}

const MAX_DEPTH = 3;
const MIN_TO_JUDGE = 10;
const SUFFIX = '(?:[_-]?name)?$';
const METHOD = new RegExp(
  `^(?:[a-z]*rpc|[a-z]*method|function|func|fn|procedure|proc|operation|op|action|command|cmd|call|verb)${SUFFIX}`,
  'i',
);
const OWNER = new RegExp(
  `^(?:event|object|process|task|script|target|module|service|class|bean|component|program|schema|unit)${SUFFIX}`,
  'i',
);
const INTERFACE = new RegExp(`^(?:interface|iface|intf|facade)${SUFFIX}`, 'i');
const OBJECT = /^(?:object|tag|item|point|signal|variable|symbol|topic|sensor|entity|node)(?:[_-]?(?:name|id))?$/i;
const KIND = /^(?:type|kind|request|query|what|msg|message)(?:[_-]?(?:type|name))?$/i;
const NAME = /name$/i;
const ERROR = /^(?:error|err|fault|exception|failure)(?:[_-]?(?:message|text|reason))?$/i;
const SBA = /sba/i;
