/**
 * Compiles and validates the rules for Comet messages. config/comet-rules.ts, which must not import this file, makes
 * the same checks: a rule that it accepts must be accepted here.
 */

import { ConfigError } from '../../base/errors.ts';
import type { CometRule } from '../../config/config.ts';
import { type ChannelPattern, parseChannelPattern } from '../../protocol/bayeux/channel.ts';
import { type JsonPointer, parsePointer } from '../../protocol/bayeux/json-pointer.ts';
import { type NameTemplate, parseNameTemplate } from './comet-name.ts';
import type { ReplyRule } from './comet-reply.ts';

export type CometWhen = NonNullable<CometRule['when']>;
export type CometAction = NonNullable<CometRule['action']>;

export const COMET_WHENS: readonly CometWhen[] = ['subscribe', 'unsubscribe', 'publish', 'delivery'];

export type CometTarget =
  | { readonly kind: 'none' }
  | { readonly kind: 'rpc' | 'sba'; readonly action: 'call' }
  | { readonly kind: 'object'; readonly action: 'subscribe' | 'unsubscribe' | 'value' };

export interface CompiledCometRule {
  readonly whens: readonly CometWhen[];
  readonly pattern: ChannelPattern;
  readonly target: CometTarget;
  /** Has no parts for kind `none`. */
  readonly name: NameTemplate;
  readonly reply: ReplyRule;
}

/**
 * Compiles rules. `key` names them in errors, e.g. `comet.rules` in `comet.rules[2].name`. Throws `D2S_ERR_CONFIG` for
 * a rule that could never match or could not name its matches.
 */
export function compileCometRules(rules: readonly CometRule[], key: string): CompiledCometRule[] {
  return rules.map((rule, index) => compileRule(rule, `${key}[${index}]`));
}

function compileRule(rule: CometRule, key: string): CompiledCometRule {
  const pattern = parseChannelPattern(rule.channel);
  if (typeof pattern === 'string') return refuse(`${key}.channel`, rule.channel, pattern);
  const target = toTarget(rule, key);
  const whens = toWhens(rule, target, key);
  const name = toTemplate(rule, pattern, whens, `${key}.name`);
  return { whens, pattern, target, name, reply: compileReply(rule, target, `${key}.reply`) };
}

function toTarget(rule: CometRule, key: string): CometTarget {
  const { kind, action } = rule;
  switch (kind) {
    case 'none':
      if (action !== undefined) refuse(`${key}.action`, action, 'no action, since a rule of kind none does nothing');
      return { kind };
    case 'rpc':
    case 'sba':
      if (action !== undefined && action !== 'call') refuse(`${key}.action`, action, `call, since kind is ${kind}`);
      return { kind, action: 'call' };
    case 'object':
      if (action === 'subscribe' || action === 'unsubscribe' || action === 'value') return { kind, action };
      return refuse(`${key}.action`, action, 'subscribe, unsubscribe or value, since kind is object');
    default:
      return refuse(`${key}.kind`, kind, 'one of rpc, sba, object, none');
  }
}

function toWhens(rule: CometRule, target: CometTarget, key: string): readonly CometWhen[] {
  const { when } = rule;
  if (when !== undefined && !COMET_WHENS.includes(when)) {
    refuse(`${key}.when`, when, `one of ${COMET_WHENS.join(', ')}`);
  }
  if (target.kind === 'none') return when === undefined ? COMET_WHENS : [when];
  const { action } = target;
  const allowed = ALLOWED_WHENS[action];
  if (when === undefined) return allowed.slice(0, 1);
  return allowed.includes(when) ? [when] : refuse(`${key}.when`, when, `${allowed.join(' or ')} for action ${action}`);
}

function toTemplate(rule: CometRule, pattern: ChannelPattern, whens: readonly CometWhen[], key: string): NameTemplate {
  if (rule.kind === 'none') {
    if (rule.name !== '') refuse(key, rule.name, 'no name, since a rule of kind none names nothing');
    return { parts: [], needsData: false };
  }
  const template = parseNameTemplate(rule.name, pattern.captures);
  if (typeof template === 'string') return refuse(key, rule.name, template);
  if (template.needsData && whens.some((when) => when === 'subscribe' || when === 'unsubscribe')) {
    refuse(key, rule.name, 'captures only, since a subscription has no data to point into');
  }
  return template;
}

function compileReply(rule: CometRule, target: CometTarget, key: string): ReplyRule {
  const { reply } = rule;
  if (reply === undefined) return DEFAULT_REPLY;
  if (target.kind === 'none' || target.action !== 'call') refuse(key, '', 'no reply, since only a call has one');
  return {
    channel: compileReplyChannel(reply.channel, `${key}.channel`),
    id: compileReplyPointer(reply.id, ID_PLACE, ID_FORM, `${key}.id`) ?? DEFAULT_REPLY.id,
    error: compileReplyPointer(reply.error, ERROR_PLACE, ERROR_FORM, `${key}.error`),
  };
}

function compileReplyChannel(channel: string | undefined, key: string): string | undefined {
  if (channel === undefined) return undefined;
  const pattern = parseChannelPattern(channel);
  if (typeof pattern === 'string' || pattern.captures.length > 0) {
    refuse(key, channel, 'a channel such as /service/d2/answer, without captures');
  }
  return channel;
}

function compileReplyPointer(
  text: string | undefined,
  place: RegExp,
  form: string,
  key: string,
): JsonPointer | undefined {
  if (text === undefined) return undefined;
  const pointer = parsePointer(text);
  return pointer === undefined || !place.test(text) ? refuse(key, text, form) : pointer;
}

function refuse(key: string, value: string | undefined, expected: string): never {
  throw new ConfigError(`${key}: ${JSON.stringify(value ?? '')} cannot be used; expected ${expected}`);
}

/** The allowed `when` of each action; the first is the default. Other combinations would match but mean nothing. */
const ALLOWED_WHENS: Readonly<Record<CometAction, readonly CometWhen[]>> = {
  call: ['publish'],
  subscribe: ['subscribe', 'publish'],
  unsubscribe: ['unsubscribe', 'publish'],
  value: ['delivery'],
};
const DEFAULT_REPLY: ReplyRule = { channel: undefined, id: ['id'], error: undefined };
// Pointers may only reach fields that survive the parsing of a message (protocol/bayeux/message.ts).
const ID_PLACE = /^\/(?:id$|data\/|ext\/)/;
const ID_FORM = 'a JSON Pointer into the message: /id, or below /data or /ext such as /data/requestId';
const ERROR_PLACE = /^\/(?:error$|data(?:\/|$)|ext(?:\/|$))/;
const ERROR_FORM = 'a JSON Pointer into the answer: /error, or into /data or /ext such as /data/error';
