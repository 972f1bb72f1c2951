/** Makes rules of what a survey has found. Guesses, for a person to look over: each comes with what it is based on. */
import type { CometRule } from '../../config/config.ts';
import { ConfigError } from '../../errors.ts';
import { checkCometRules } from '../comet-classifier.ts';
import type { CometWhen } from '../comet-rule-compiler.ts';
import { toAnswerRelation, toCallProposal } from './call-proposals.ts';
import type { ChannelRecord } from './channel-record.ts';
import type { ChannelFamily } from './channel-tree.ts';
import { toChannelName, toPattern } from './family-pattern.ts';
import { COUNTED_AS, isRead, type JudgedFamily } from './judged-family.ts';
import { toObjectName } from './name-fields.ts';
import { findServices, type ObjectService } from './object-services.ts';

/** Rules that belong together. */
export interface Proposal {
  /** One line that says what they are made of. */
  readonly reason: string;
  readonly rules: readonly CometRule[];
}

export interface Proposals {
  readonly families: readonly JudgedFamily[];
  readonly proposals: readonly Proposal[];
}

export function toProposals(found: readonly ChannelFamily[]): Proposals {
  const families = found.map(
    (family): JudgedFamily => ({ pattern: toPattern(family), record: family.record, remarks: [] }),
  );
  takeBackAnswers(families);
  for (const family of families) remarkOnRead(family);
  const calls = families.flatMap((family) => toCallProposal(family, families) ?? []);
  const called = new Set(calls.map(({ family }) => family));
  const services = findServices(families, (family) => called.has(family) || isRead(family.record, 'publish'));
  const told = new Set(services.map(({ deliveries }) => deliveries));
  const proposals = [
    ...calls,
    ...services.map(toServiceProposal),
    ...families.filter((family) => !told.has(family)).flatMap((family) => toObjectProposal(family) ?? []),
  ];
  return { families, proposals: proposals.map(usable).filter(({ rules }) => rules.length > 0) };
}

/** What was taken for answers, by an id in the data, and turns out to be values that come again and again. */
function takeBackAnswers(families: readonly JudgedFamily[]): void {
  const answering = new Set(families.map((family) => toAnswerRelation(family)?.on));
  for (const { record } of families) {
    for (const { on } of record.answerRelations) if (!answering.has(on)) on.takeBackAnswers();
  }
}

function remarkOnRead({ record, remarks }: JudgedFamily): void {
  for (const when of Object.keys(COUNTED_AS) as CometWhen[]) {
    const { [when]: read } = record.read;
    if (read === 0) continue;
    const by = record.readByDefault[when] === read ? 'the built-in rules' : 'the rules of the configuration';
    remarks.push(`${WHEN_WORDS[when]}: ${read} of ${record.counts[COUNTED_AS[when]]} read by ${by} already`);
  }
}

function toServiceProposal({ asking, ending, deliveries, told }: ObjectService): Proposal {
  const publish = (action: 'subscribe' | 'unsubscribe', channel: string, pointer: string): CometRule => ({
    channel,
    when: 'publish',
    kind: 'object',
    action,
    name: `{${pointer}}`,
  });
  const rules = [
    ...asking.map(({ family, pointer }) => publish('subscribe', family.pattern.text, pointer)),
    ...ending.map(({ family, pointer }) => publish('unsubscribe', family.pattern.text, pointer)),
  ];
  if (!isRead(deliveries.record, 'delivery')) {
    rules.push({ channel: deliveries.pattern.text, kind: 'object', action: 'value', name: `{${told}}` });
  }
  const guess = ending.some(({ isGuess }) => isGuess) ? '; the unsubscription is guessed from the order' : '';
  const missing = ending.length === 0 ? '; how they are unsubscribed was not heard' : '';
  return { reason: `objects subscribed by a message; their values carry the same field${guess}${missing}`, rules };
}

/** Channels that are subscribed, or on which something is delivered. */
function toObjectProposal(family: JudgedFamily): Proposal | undefined {
  const { pattern, record, remarks } = family;
  const { subscribed, unsubscribed, delivered, answered } = record.counts;
  if (subscribed + unsubscribed + delivered === 0) return undefined;
  // Further answers to the same call.
  if (subscribed === 0 && delivered * 10 <= answered) return undefined;
  if (pattern.hasWildcard) {
    remarks.push('no rule: a wildcard stands for several channels, and which of them are objects is not to be seen');
    return undefined;
  }
  const field =
    delivered > 0 && !pattern.hasCaptures ? toObjectName(record.deliveries, pattern.isService ? 1 : 2) : undefined;
  if (pattern.isService || field !== undefined) return toFieldProposal(family, field);
  const name = toChannelName(pattern);
  if (name === undefined) {
    remarks.push('no rule: the channels differ by ids only, and an id is no name');
    return undefined;
  }
  const rules = (['subscribe', 'unsubscribe', 'value'] as const)
    .filter((action) => !isRead(record, action === 'value' ? 'delivery' : action))
    .map((action): CometRule => ({ channel: pattern.text, kind: 'object', action, name }));
  // What nobody did was not read either; with the rest read already there is nothing to add.
  if (isRead(record, 'subscribe') || isRead(record, 'delivery')) {
    return rules.length === 0 || !isMissing(record) ? undefined : { reason: 'objects, read in part so far', rules };
  }
  const chat = record.counts.published > 0 ? ', to which clients publish too' : '';
  return { reason: `objects that are channels of their own: ${record.channels.toString()} heard${chat}`, rules };
}

function isMissing(record: ChannelRecord): boolean {
  const { subscribed, delivered } = record.counts;
  return (subscribed > 0 && !isRead(record, 'subscribe')) || (delivered > 0 && !isRead(record, 'delivery'));
}

/** One channel for the values of many objects. */
function toFieldProposal({ pattern, record, remarks }: JudgedFamily, field: string | undefined): Proposal | undefined {
  if (record.counts.delivered === 0 || isRead(record, 'delivery')) return undefined;
  if (field === undefined) {
    remarks.push('no rule: no field of what is delivered names an object');
    return undefined;
  }
  const rule: CometRule = { channel: pattern.text, kind: 'object', action: 'value', name: `{${field}}` };
  return { reason: 'values of many objects on one channel', rules: [rule] };
}

/** Without rules that a configuration would refuse, such as those longer than it allows. */
function usable({ reason, rules }: Proposal): Proposal {
  return { reason, rules: rules.filter((rule) => isUsable(rule)) };
}

function isUsable(rule: CometRule): boolean {
  const texts = [rule.channel, rule.name, rule.reply?.channel, rule.reply?.id, rule.reply?.error];
  if (texts.some((text) => text !== undefined && text.length > MAX_RULE_CHARS)) return false;
  try {
    checkCometRules([rule]);
    return true;
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}

/** As in the configuration. */
const MAX_RULE_CHARS = 256;
const WHEN_WORDS: Readonly<Record<CometWhen, string>> = {
  subscribe: 'subscriptions',
  unsubscribe: 'unsubscriptions',
  publish: 'published messages',
  delivery: 'deliveries',
};
