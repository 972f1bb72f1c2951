import type { CometReply, CometRule } from '../../config/config.ts';
import type { AnswerRelation, ChannelRecord } from './channel-record.ts';
import { toChannelName } from './family-pattern.ts';
import { isRead, type JudgedFamily } from './judged-family.ts';
import { isSba, toCallName, toErrorPointer } from './name-fields.ts';
import { MAX_DISTINCT, type ShapeNode } from './shape.ts';
import { SUBSCRIBES } from './words.ts';

export interface CallProposal {
  readonly family: JudgedFamily;
  readonly reason: string;
  readonly rules: readonly CometRule[];
}

/** A rule for messages that are answered with data; undefined for a channel without them, or which is read already. */
export function toCallProposal(family: JudgedFamily, families: readonly JudgedFamily[]): CallProposal | undefined {
  const { pattern, record, remarks } = family;
  const relation = toAnswerRelation(family);
  if (relation === undefined || isRead(record, 'publish') || pattern.hasWildcard) return undefined;
  // A subscription may be answered with the first value.
  if (record.echoRelations.length > 0 && pattern.words.some((word) => SUBSCRIBES.test(word))) return undefined;
  const answers = families.find((other) => other.record === relation.on);
  if (answers === undefined) return undefined;
  if (relation.on !== record && answers.pattern.hasCaptures) {
    remarks.push(`no rule: answered on ${answers.pattern.text}, and a rule can only name one channel for answers`);
    return undefined;
  }
  const name = toCallName(record.published) ?? toChannelName(pattern);
  if (name === undefined) {
    remarks.push('no rule: answered with data, but nothing names what is called');
    return undefined;
  }
  const reply = toReply(relation, family, answers);
  const rule: CometRule = {
    channel: pattern.text,
    kind: isSba(record.published, pattern.words) ? 'sba' : 'rpc',
    action: 'call',
    name,
    ...(reply === undefined ? {} : { reply }),
  };
  const { published } = record.counts;
  const on = relation.on === record ? 'the same channel' : answers.pattern.text;
  const reason = `calls: ${relation.count} of ${published} were answered with data on ${on}, found by ${relation.by}`;
  return { family, reason, rules: [rule] };
}

/** How most calls on the channel are answered; undefined where they are not, or where it may be chance. */
export function toAnswerRelation({ record }: JudgedFamily): AnswerRelation | undefined {
  const { published, refused } = record.counts;
  const least = Math.max(1, published - refused);
  return record.answerRelations.find((relation) => {
    if (relation.by === '/id') {
      // Ids are counted from 1 by each client: on a channel of others the same one comes up by chance.
      if (relation.on === record) return relation.count * 4 >= least;
      return relation.count * 2 >= least && relation.on.counts.published === 0;
    }
    const isOnce = relation.repeated * 5 <= relation.count;
    return isOnce && relation.count * 2 >= least && isId(record, relation.by.slice('/data'.length));
  });
}

/** Whether nearly every message has another value there. */
function isId({ published }: ChannelRecord, pointer: string): boolean {
  let node: ShapeNode | undefined = published.root;
  for (const key of pointer.slice(1).split('/')) node = node?.fields.get(key);
  return node !== undefined && node.distinct.size >= 0.9 * Math.min(node.present, MAX_DISTINCT);
}

function toReply(relation: AnswerRelation, { record }: JudgedFamily, answers: JudgedFamily): CometReply | undefined {
  const error = toErrorPointer(answers.record.answers);
  const reply: CometReply = {
    ...(relation.on === record ? {} : { channel: answers.pattern.text }),
    ...(relation.by === '/id' ? {} : { id: relation.by }),
    ...(error === undefined ? {} : { error }),
  };
  return Object.keys(reply).length === 0 ? undefined : reply;
}
