/**
 * The channels that were heard, as a tree of their segments. Segments that look like data, and those of which there are too
 * many, are one family from the start; the others are looked at again at the end, when their neighbours are known.
 */
import { type Bounds, MAX_CHANNELS } from './bounds.ts';
import { ChannelRecord } from './channel-record.ts';
import { hashOf } from './distinct.ts';
import { looksLikeWord, looksRandom, withoutNumbers } from './looks.ts';

/** One segment of a family of channels. */
export type FamilySegment =
  | { readonly kind: 'text'; readonly text: string }
  /** `*` or `**`: what a client subscribes to hear several channels. */
  | { readonly kind: 'wildcard'; readonly text: string }
  /** Data. `isRandom`: made by a machine, as ids are, and no name that people gave. */
  | { readonly kind: 'capture'; readonly isRandom: boolean };

/** One channel, or all that differ in captured segments only. */
export interface ChannelFamily {
  readonly segments: readonly FamilySegment[];
  readonly record: ChannelRecord;
}

class ChannelNode {
  readonly words = new Map<string, ChannelNode>();
  readonly wildcards = new Map<string, ChannelNode>();
  captured: ChannelNode | undefined;
  record: ChannelRecord | undefined;
  /** More words than there would be of them. */
  isVaried = false;
  /** Of a captured node: messages that looked random there, and all. */
  random = 0;
  seen = 0;

  get children(): ChannelNode[] {
    return [...this.words.values(), ...(this.captured === undefined ? [] : [this.captured])];
  }
}

export class ChannelTree {
  readonly #root = new ChannelNode();
  readonly #bounds: Bounds;
  #nodes = 0;
  #records = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Channels and families there are places taken for. */
  get size(): number {
    return this.#records;
  }

  /** The record of the family that the channel is in; undefined where there is no place for one more. */
  recordOf(channel: string): ChannelRecord | undefined {
    const record = this.#recordOf(channel);
    if (record === undefined) this.#bounds.hit.channels += 1;
    else record.channels.add(hashOf(channel));
    return record;
  }

  #recordOf(channel: string): ChannelRecord | undefined {
    const segments = channel.split('/', MAX_SEGMENTS + 2).slice(1);
    if (segments.length === 0 || segments.length > MAX_SEGMENTS) return undefined;
    let node: ChannelNode | undefined = this.#root;
    const maxWords = segments[0] === 'service' ? MAX_SERVICE_WORDS : MAX_WORDS;
    for (const segment of segments) {
      node = this.#childOf(node, segment, maxWords);
      if (node === undefined) return undefined;
    }
    if (node.record === undefined) {
      if (this.#records >= MAX_CHANNELS) return undefined;
      this.#records += 1;
      node.record = new ChannelRecord(this.#bounds);
    }
    return node.record;
  }

  #childOf(node: ChannelNode, segment: string, maxWords: number): ChannelNode | undefined {
    if (segment === '*' || segment === '**') return this.#make(node.wildcards, segment);
    const word = node.words.get(segment);
    if (word !== undefined) return word;
    if (!node.isVaried && looksLikeWord(segment) && node.words.size < maxWords) return this.#make(node.words, segment);
    if (!node.isVaried && node.words.size >= maxWords) {
      node.isVaried = true;
      captureAll(node, [...node.words.keys()]);
    }
    if (node.captured === undefined) {
      if (this.#nodes >= MAX_NODES) return undefined;
      this.#nodes += 1;
      node.captured = new ChannelNode();
    }
    node.captured.seen += 1;
    if (looksRandom(segment)) node.captured.random += 1;
    return node.captured;
  }

  #make(children: Map<string, ChannelNode>, segment: string): ChannelNode | undefined {
    const present = children.get(segment);
    if (present !== undefined || this.#nodes >= MAX_NODES) return present;
    this.#nodes += 1;
    const made = new ChannelNode();
    // A copy, which does not keep the message alive.
    children.set(Buffer.from(segment, 'utf8').toString('utf8'), made);
    return made;
  }

  /** All families, in the order of their names. `isKnownData`: texts that were heard as data elsewhere, e.g. a user's name. */
  settle(isKnownData: (text: string) => boolean): ChannelFamily[] {
    for (let pass = 0; pass < SETTLING_PASSES; pass += 1) settleNode(this.#root, isKnownData, 'root');
    const families: ChannelFamily[] = [];
    collect(this.#root, [], families);
    for (const { record } of families) record.settle(isKnownData);
    return families;
  }
}

function settleNode(node: ChannelNode, isKnownData: (text: string) => boolean, place: Place): void {
  const below = (word: string): Place =>
    place === 'service' || (place === 'root' && word === 'service') ? 'service' : 'other';
  for (const [word, child] of [...node.words, ...node.wildcards]) settleNode(child, isKnownData, below(word));
  if (node.captured !== undefined) settleNode(node.captured, isKnownData, below(''));
  captureAll(node, wordsThatAreData(node, isKnownData, place));
}

/** Where a node is: names of services are a programmer's, and may be many. */
type Place = 'root' | 'service' | 'other';

function wordsThatAreData(node: ChannelNode, isKnownData: (text: string) => boolean, place: Place): string[] {
  const words = [...node.words.keys()];
  const isObject = (word: string) => isObjectLeaf(node.words.get(word));
  const objects = words.filter(isObject);
  // What channels begin with are names of systems, not of objects.
  const groups = place === 'root' ? [] : words.filter((word) => isObjectGroup(node.words.get(word)));
  const areObjects =
    objects.length >= (place === 'service' ? MIN_SERVICE_OBJECTS : MIN_OBJECTS) ||
    (objects.length > 0 && isObjectLeaf(node.captured));
  const areGroups = groups.length >= MIN_GROUPS || (groups.length > 0 && isObjectGroup(node.captured));
  const numbered = new Map<string, number>();
  for (const word of words) numbered.set(withoutNumbers(word), (numbered.get(withoutNumbers(word)) ?? 0) + 1);
  return words.filter(
    (word) =>
      isKnownData(word) ||
      (areObjects && isObject(word)) ||
      (areGroups && groups.includes(word)) ||
      (numbered.get(withoutNumbers(word)) ?? 0) > 1,
  );
}

/** A channel below which there is none, and on which clients only receive. */
function isObjectLeaf(node: ChannelNode | undefined): boolean {
  return node?.record?.isObjectLike === true && node.children.length === 0;
}

/** No channel itself; all that is below it is received only, and named by data: `/plant/north/{…}`. */
function isObjectGroup(node: ChannelNode | undefined): boolean {
  if (node === undefined || node.record !== undefined || node.captured === undefined) return false;
  return node.children.every((child) => isObjectLeaf(child) || isObjectGroup(child));
}

function captureAll(node: ChannelNode, words: readonly string[]): void {
  for (const word of words) {
    const child = node.words.get(word);
    if (child === undefined) continue;
    node.words.delete(word);
    // Those whose words could be told were no ids.
    child.seen += 1;
    if (node.captured === undefined) node.captured = child;
    else addAll(node.captured, child);
  }
}

function addAll(node: ChannelNode, other: ChannelNode): void {
  node.seen += other.seen;
  node.random += other.random;
  node.isVaried ||= other.isVaried;
  if (other.record !== undefined) {
    if (node.record === undefined) node.record = other.record;
    else node.record.addAll(other.record);
  }
  addChildren(node.words, other.words);
  addChildren(node.wildcards, other.wildcards);
  if (other.captured === undefined) return;
  if (node.captured === undefined) node.captured = other.captured;
  else addAll(node.captured, other.captured);
}

function addChildren(children: Map<string, ChannelNode>, others: ReadonlyMap<string, ChannelNode>): void {
  for (const [word, other] of others) {
    const present = children.get(word);
    if (present === undefined) children.set(word, other);
    else addAll(present, other);
  }
}

function collect(node: ChannelNode, segments: readonly FamilySegment[], families: ChannelFamily[]): void {
  if (node.record !== undefined) families.push({ segments, record: node.record });
  const inOrder = (children: ReadonlyMap<string, ChannelNode>) =>
    [...children].sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
  for (const [text, child] of inOrder(node.words)) collect(child, [...segments, { kind: 'text', text }], families);
  for (const [text, child] of inOrder(node.wildcards)) {
    collect(child, [...segments, { kind: 'wildcard', text }], families);
  }
  const { captured } = node;
  if (captured === undefined) return;
  collect(captured, [...segments, { kind: 'capture', isRandom: captured.random * 2 > captured.seen }], families);
}

const MAX_SEGMENTS = 12;
const MAX_NODES = 3_000;
/** Words at one place of the tree. There may be many services, but not so many kinds of anything else. */
const MAX_SERVICE_WORDS = 100;
const MAX_WORDS = 30;
/** Neighbours that clients only receive, from which on their names are taken for data. */
const MIN_OBJECTS = 3;
const MIN_SERVICE_OBJECTS = 20;
/** The same for groups of such channels: `/plant/north/...`, `/plant/south/...`. */
const MIN_GROUPS = 6;
/** What one pass puts together may show the next one more. */
const SETTLING_PASSES = 4;
