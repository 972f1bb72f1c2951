/**
 * What `d2-sidecar learn` prints: a YAML document, of which the comments tell what was heard, and the rest is rules to paste
 * into a configuration. It holds no values; names in it have passed `looks.ts`.
 */
import type { CometRule } from '../../config/config.ts';
import { toShownText } from '../../shown-text.ts';
import type { BoundsHit } from './bounds.ts';
import type { ChannelCounts } from './channel-record.ts';
import type { JudgedFamily } from './judged-family.ts';
import { type Proposal, toProposals } from './proposals.ts';
import type { Shape, ShapeNode } from './shape.ts';
import type { Findings } from './survey.ts';

/** `elapsedS`: how long was listened, in seconds. */
export function toReport(findings: Findings, elapsedS: number): string {
  const { families, proposals } = toProposals(findings.families);
  return [
    ...toComments(toSummary(findings, elapsedS)),
    ...families.flatMap((family) => toComments(['', ...toFamilyLines(family)])),
    '',
    ...toRuleLines(proposals),
    '',
  ].join('\n');
}

function toSummary({ families, boundsHit, ...numbers }: Findings, elapsedS: number): string[] {
  const { clientMessages, upstreamMessages, clients, failures } = numbers;
  const lines = [
    `d2-sidecar learn: ${Math.round(elapsedS)} s, ${clientMessages} messages of ${clients} clients, ${upstreamMessages} of the server,`,
    `${families.length} channels or families of channels that differ in {name} or {id} only.`,
    'Shapes of data show each field with its types, in how many messages it is, and how many different values it has;',
    '{key} is any key that looks like data, {n} any entry of a list. No values are kept or shown.',
  ];
  if (families.length === 0) {
    lines.push(
      'Nothing was heard on any channel. Clients have to connect through the sidecar (--listen), below an application',
    );
    lines.push('of its configuration, and on the path comet.path.');
  }
  for (const key of Object.keys(BOUND_WORDS) as (keyof BoundsHit)[]) {
    if (boundsHit[key] > 0) lines.push(`A bound was hit: ${boundsHit[key]} ${BOUND_WORDS[key]}.`);
  }
  if (failures > 0) lines.push(`${failures} messages could not be looked at, for a mistake in the sidecar.`);
  return lines;
}

function toFamilyLines({ pattern, record, remarks }: JudgedFamily): string[] {
  const channels = pattern.hasCaptures ? ` (${record.channels.toString()} of them)` : '';
  return [
    `${pattern.text}${channels}: ${toCounts(record.counts)}`,
    ...remarks.map((remark) => `  ${remark}`),
    ...toShapeLines('data that clients publish', record.published),
    ...toShapeLines('data of answers', record.answers),
    ...toShapeLines('data of deliveries', record.deliveries),
  ];
}

function toCounts(counts: ChannelCounts): string {
  const parts = Object.entries(COUNT_WORDS).flatMap(([key, word]) => {
    const count = counts[key as keyof ChannelCounts];
    return count === 0 ? [] : [`${word} ${count}`];
  });
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

function toShapeLines(title: string, shape: Shape): string[] {
  if (shape.messages === 0) return [];
  const places = toPlaces('', shape.root).filter(({ pointer, node }) => pointer !== '' || !isPlainObject(node));
  const width = Math.min(MAX_WIDTH, Math.max(0, ...places.map(({ pointer }) => pointer.length)));
  const shown = places.slice(0, MAX_PLACES_SHOWN).map(({ pointer, node }) => {
    const distinct = node.distinct.size === 0 ? '' : `, ${node.distinct.toString()} different`;
    const types = [...node.types].sort().join(' or ');
    return `    ${(pointer || '(all of it)').padEnd(width)}  ${types}, in ${Math.min(node.present, shape.messages)} of ${shape.messages}${distinct}`;
  });
  const left = places.length - shown.length;
  return [`  ${title}:`, ...shown, ...(left > 0 ? [`    and ${left} more`] : [])];
}

/** All places below, in the order of a document. `{key}` and `{n}` cannot be mistaken for fields, which have no braces. */
function toPlaces(pointer: string, node: ShapeNode): { readonly pointer: string; readonly node: ShapeNode }[] {
  const places = [{ pointer, node }];
  for (const [key, field] of node.fields) places.push(...toPlaces(`${pointer}/${key}`, field));
  if (node.anyKey !== undefined) places.push(...toPlaces(`${pointer}/{key}`, node.anyKey));
  if (node.items !== undefined) places.push(...toPlaces(`${pointer}/{n}`, node.items));
  return places;
}

function isPlainObject({ types }: ShapeNode): boolean {
  return types.size === 1 && types.has('object');
}

function toRuleLines(proposals: readonly Proposal[]): string[] {
  const kept = proposals.slice(0, MAX_PROPOSALS);
  const left = proposals.length - kept.length;
  const note = left > 0 ? [`# ${left} more proposals are left out.`] : [];
  if (kept.length === 0) return ['# There is nothing to propose.', 'comet:', '  rules: []'];
  return [
    '# Proposals, to be looked over: guesses by what was heard. Rules that you have already stay in front of them.',
    ...note,
    'comet:',
    '  rules:',
    ...kept.flatMap(({ reason, rules }) => [`    # ${reason}`, ...rules.map((rule) => `    - ${toFlow(rule)}`)]),
  ];
}

/** `{ channel: "/plant/call", kind: rpc }`: texts that may need quotes have them, which is JSON and so YAML. */
function toFlow(rule: object): string {
  const parts = Object.entries(rule).flatMap(([key, value]: [string, unknown]) => {
    if (value === undefined) return [];
    if (typeof value === 'object' && value !== null) return [`${key}: ${toFlow(value)}`];
    return [`${key}: ${isWord(value) ? value : JSON.stringify(value)}`];
  });
  return `{ ${parts.join(', ')} }`;
}

/** Whether YAML reads it as a text without quotes. Words such as `no` and `null` are quoted as all others are. */
function isWord(value: unknown): value is string {
  return typeof value === 'string' && BARE_WORDS.has(value as Bare);
}

/** Each line a comment; no text can break out of it. */
function toComments(lines: readonly string[]): string[] {
  return lines.map((line) => `# ${toShownText(line)}`.trimEnd());
}

type Bare = NonNullable<CometRule['kind'] | CometRule['action'] | CometRule['when']>;
const BARE_WORDS: ReadonlySet<Bare> = new Set<Bare>([
  'rpc',
  'sba',
  'object',
  'call',
  'subscribe',
  'unsubscribe',
  'value',
  'publish',
]);
const COUNT_WORDS: Readonly<Record<keyof ChannelCounts, string>> = {
  subscribed: 'subscribed',
  forbidden: 'subscriptions refused',
  unsubscribed: 'unsubscribed',
  published: 'published',
  acknowledged: 'acknowledged without data',
  refused: 'refused',
  answered: 'answers with data',
  delivered: 'delivered',
};
const BOUND_WORDS: Readonly<Record<keyof BoundsHit, string>> = {
  channels: 'messages on channels that there was no place for',
  fields: 'fields that there was no place for',
  parts: 'parts of messages that were nested too deep or came too late in them',
  questions: 'messages of clients that were forgotten before anything could answer them',
};
const MAX_PLACES_SHOWN = 60;
const MAX_WIDTH = 40;
/** Below the most rules that a configuration may have, with three rules for each. */
const MAX_PROPOSALS = 60;
