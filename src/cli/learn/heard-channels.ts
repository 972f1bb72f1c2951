/** The channels of a survey. Channels that differ only in segments that look like data become one template. */
import type { CometWhen } from '../../config/rules/comet-rules.ts';
import { type Bounds, MAX_CHANNELS, MAX_SEGMENTS } from './bounds.ts';
import { looksLikeWord, NameNode, VARIABLE } from './name-node.ts';
import { Tally } from './tally.ts';

/**
 * `forbidden`: a subscription that the server refused. `acknowledged`: without data. `answer`: data for the client that
 * published on this channel with the same `id`. All other data from the server is a `delivery`.
 */
export type ChannelEvent = CometWhen | 'forbidden' | 'acknowledged' | 'refused' | 'answer';

/** The events on a channel, or on all channels of a template. */
class ChannelRecord {
  readonly tallies = new Map<ChannelEvent, Tally>();

  tallyOf(event: ChannelEvent): Tally {
    const tally = this.tallies.get(event) ?? new Tally();
    this.tallies.set(event, tally);
    return tally;
  }

  /** Whether the event happened, and rules read less than half of it. */
  isUnread(when: CometWhen): boolean {
    const { count = 0, read = 0 } = this.tallies.get(when) ?? {};
    return read * 2 < count;
  }

  add(other: ChannelRecord): void {
    for (const [event, tally] of other.tallies) this.tallyOf(event).add(tally);
  }
}

export interface HeardChannel {
  /** As `comet.rules` writes it: `/plant/{name1}/{name2}`. */
  readonly pattern: string;
  /** `['name1', 'name2']` */
  readonly captures: readonly string[];
  readonly record: ChannelRecord;
}

type ChannelNode = NameNode<ChannelRecord>;
type Place = keyof typeof MAX_WORDS;

export class HeardChannels {
  readonly #root: ChannelNode = new NameNode<ChannelRecord>();
  readonly #bounds: Bounds;
  /** Channels and templates. */
  size = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** The record of the channel, or of its template; undefined if there is no room for it. */
  recordOf(channel: string): ChannelRecord | undefined {
    const segments = channel.split('/', MAX_SEGMENTS + 2).slice(1);
    if (segments.length === 0 || segments.length > MAX_SEGMENTS) {
      this.#bounds.skip('channels');
      return undefined;
    }
    const take = () => this.#bounds.take('channels', MAX_CHANNELS);
    let node: ChannelNode | undefined = this.#root;
    for (const [depth, segment] of segments.entries()) {
      const place = depth === 0 ? 'root' : segments[0] === 'service' ? 'service' : 'other';
      if (looksLikeWord(segment)) node = node?.childOf(segment, MAX_WORDS[place], take);
      else node = node?.place(/^\*\*?$/.test(segment) ? segment : VARIABLE, take);
    }
    if (node === undefined) return undefined;
    if (node.value === undefined) this.size += 1;
    node.value ??= new ChannelRecord();
    return node.value;
  }

  /** All channels, sorted. `isKnownData` recognises texts that were data elsewhere, e.g. the name of a user. */
  settle(isKnownData: (text: string) => boolean): HeardChannel[] {
    settle(this.#root, isKnownData, 'root');
    const channels = collect(this.#root, []);
    for (const { record } of channels) for (const tally of record.tallies.values()) tally.settle(isKnownData);
    return channels.sort((a, b) => (a.pattern < b.pattern ? -1 : 1));
  }
}

/** Folds segments that turn out to be data, from the top down, because folding merges the branches below. */
function settle(node: ChannelNode, isKnownData: (text: string) => boolean, place: Place): void {
  node.fold(MAX_WORDS[place], isKnownData);
  const variable = node.children.get(VARIABLE);
  const areObjects = node.named.filter(isObject).length >= MIN_OBJECTS[place];
  if (areObjects || (variable !== undefined && isObject(variable))) {
    node.fold(MAX_WORDS[place], (_, child) => isObject(child));
  }
  for (const child of node.children.values()) {
    settle(child, isKnownData, place !== 'root' ? place : child.name === 'service' ? 'service' : 'other');
  }
}

/** A channel with nothing below it, on which clients only receive. */
function isObject({ value, children }: ChannelNode): boolean {
  const { tallies } = value ?? {};
  if (tallies === undefined || children.size > 0 || tallies.has('publish')) return false;
  return tallies.has('subscribe') || tallies.has('unsubscribe') || tallies.has('delivery');
}

function collect(node: ChannelNode, segments: readonly string[]): HeardChannel[] {
  const below = [...node.children.values()].flatMap((child) => collect(child, [...segments, child.name ?? child.key]));
  if (node.value === undefined) return below;
  const count = segments.filter((segment) => segment === VARIABLE).length;
  const captures = Array.from({ length: count }, (_, at) => (count === 1 ? 'name' : `name${at + 1}`));
  let at = 0;
  const texts = segments.map((segment) => (segment === VARIABLE ? `{${captures[at++]}}` : segment));
  return [{ pattern: `/${texts.join('/')}`, captures, record: node.value }, ...below];
}

/** Maximum number of words at one place: there are many services, but few kinds of anything else. */
const MAX_WORDS = { root: 30, service: 100, other: 10 } as const;
/** With this many sibling objects, their names count as data. */
const MIN_OBJECTS: Readonly<Record<Place, number>> = { root: 3, service: 20, other: 3 };
