/**
 * Rules of `comet.rules`: what a message on a channel means, how it is named, and how the answer to a call is found.
 */
import { z } from 'zod';
import { describeChoice, group } from '../schema-keys.ts';
import { type JsonPointer, parsePointer } from './json-pointer.ts';
import { compilesBy, orMistake, type Pattern, parseName, parsePattern, RuleMistake } from './pattern.ts';

/** A message that matches no rule is compared with all of them. */
export const MAX_COMET_RULES = 200;

const KINDS = ['rpc', 'sba', 'object', 'none'] as const;
const WHENS = ['subscribe', 'unsubscribe', 'publish', 'delivery'] as const;
const ACTIONS = ['call', 'subscribe', 'unsubscribe', 'value'] as const;
const MAX_CHARS = 256;

const CHANNEL_FORM = 'a channel such as /d2/object/{name}, where each segment is a text or one {capture}';
const NAME_FORM = 'a name with captures and pointers such as {name} or {/eventName}[.{/interfaceName}].{/rpcName}';
const REPLY_CHANNEL_FORM = 'a channel such as /service/d2/answer, without captures';
const ID_FORM = 'a JSON Pointer into the message: /id, or below /data or /ext such as /data/requestId';
const ERROR_FORM = 'a JSON Pointer into the answer: /error, or into /data or /ext such as /data/error';
// Pointers may only reach fields that survive the parsing of a message (protocol/bayeux/message.ts).
const ID_PLACE = /^\/(?:id$|data\/|ext\/)/;
const ERROR_PLACE = /^\/(?:error$|data(?:\/|$)|ext(?:\/|$))/;

const replySchema = group('a group of channel, id and error', {
  channel: text(REPLY_CHANNEL_FORM, isReplyChannel)
    .optional()
    .describe('Channel of the answer. Absent: that of the call.'),
  id: text(ID_FORM, (id) => parsePointerTo(ID_PLACE, id) !== undefined)
    .optional()
    .describe('JSON Pointer to the correlation id, in both messages. Absent: /id.'),
  error: text(ERROR_FORM, (error) => parsePointerTo(ERROR_PLACE, error) !== undefined)
    .optional()
    .describe('JSON Pointer into the answer; anything there but null, false and an empty text means failure.'),
}).describe('How the answer to a call is found.');

const writtenRule = group('a rule with channel, kind, action and name', {
  channel: text(CHANNEL_FORM, (channel) => parseChannel(channel) !== undefined).describe(
    'Channel with captures: /d2/object/{name}. A capture matches exactly one segment.',
  ),
  when: z
    .enum(WHENS, { error: describeChoice(WHENS) })
    .optional()
    .describe(
      'Event on the channel: a client subscribes, unsubscribes or sends a message, or the server delivers one. Absent: the default of the action; all events for kind none.',
    ),
  kind: z
    .enum(KINDS, { error: describeChoice(KINDS) })
    .describe('Kind of a match; none leaves it uncounted, to exclude it from later rules.'),
  action: z
    .enum(ACTIONS, { error: describeChoice(ACTIONS) })
    .optional()
    .describe('call for kinds rpc and sba (the default); subscribe, unsubscribe or value for object.'),
  name: text(NAME_FORM)
    .prefault('')
    .describe(
      'Name with captures and with JSON Pointers into data: {/eventName}[.{/interfaceName}].{/rpcName}, where a part in brackets is omitted if its pointer finds nothing. Absent for none.',
    ),
  reply: replySchema.optional(),
});

export type CometRule = Readonly<z.output<typeof writtenRule>>;
export type CometWhen = (typeof WHENS)[number];

export const cometRuleSchema = writtenRule.superRefine(compilesBy(compileCometRule));

export type CometTarget =
  | { readonly kind: 'rpc' | 'sba'; readonly action: 'call' }
  | { readonly kind: 'object'; readonly action: 'subscribe' | 'unsubscribe' | 'value' };

/** A text, the index of a capture, or a JSON Pointer into `data`. */
type PlainPart = string | number | { readonly pointer: JsonPointer };

/** `optional`: parts that are omitted together if a pointer among them finds nothing. */
export type NamePart = PlainPart | { readonly optional: readonly PlainPart[] };

/** How to find the answer to a call, and whether it failed. One object for each rule. */
export interface ReplyRule {
  /** Undefined: the channel of the call. */
  readonly channel: string | undefined;
  /** Points to the correlation id, in the call and in the answer. */
  readonly id: JsonPointer;
  /** Points to the error in the answer; undefined if the rule has none. */
  readonly error: JsonPointer | undefined;
}

export type CompiledCometRule = ReturnType<typeof compileCometRule>;

/** The allowed `when` of each action; the first is the default. Other combinations would match but mean nothing. */
const ALLOWED_WHENS: Readonly<Record<CometTarget['action'], readonly CometWhen[]>> = {
  call: ['publish'],
  subscribe: ['subscribe', 'publish'],
  unsubscribe: ['unsubscribe', 'publish'],
  value: ['delivery'],
};

/**
 * Throws a `RuleMistake` for a rule that could never match or could not name its matches. Without a `target`, a match is
 * not counted.
 */
export function compileCometRule(rule: CometRule) {
  const pattern = orMistake(parseChannel(rule.channel), ['channel'], CHANNEL_FORM);
  const target = chooseTarget(rule);
  const whens = chooseWhens(rule, target);
  const name = target === undefined ? [] : compileName(rule, pattern.captures, whens);
  return { whens, pattern, target, name, reply: compileReply(rule, target) };
}

function chooseTarget({ kind, action, name }: CometRule): CometTarget | undefined {
  if (kind === 'none') {
    if (action !== undefined) throw new RuleMistake(['action'], 'no action, since kind none is not counted');
    if (name !== '') throw new RuleMistake(['name'], 'no name, since kind none is not counted');
    return undefined;
  }
  if (kind === 'object') {
    if (action !== undefined && action !== 'call') return { kind, action };
    throw new RuleMistake(['action'], 'subscribe, unsubscribe or value, since kind is object');
  }
  if (action !== undefined && action !== 'call') throw new RuleMistake(['action'], `call, since kind is ${kind}`);
  return { kind, action: 'call' };
}

function chooseWhens({ when }: CometRule, target: CometTarget | undefined): readonly CometWhen[] {
  if (target === undefined) return when === undefined ? WHENS : [when];
  const allowed = ALLOWED_WHENS[target.action];
  if (when === undefined) return allowed.slice(0, 1);
  if (allowed.includes(when)) return [when];
  throw new RuleMistake(['when'], `${allowed.join(' or ')} for action ${target.action}`);
}

/** `{capture}` is one of `captures`, `{/pointer}` a JSON Pointer (RFC 6901) into `data`. */
function compileName(
  { channel, name }: CometRule,
  captures: readonly string[],
  whens: readonly CometWhen[],
): readonly NamePart[] {
  const parsePart = (reference: string) => {
    const index = captures.indexOf(reference);
    if (index >= 0) return index;
    const pointer = parsePointer(reference);
    if (pointer !== undefined) return { pointer };
    const expected = `only captures that are in the channel ${channel} and JSON Pointers into data such as {/objectName}`;
    throw new RuleMistake(['name'], expected);
  };
  const parts: NamePart[] = [];
  // Splitting at a capturing group yields, in turn, the text outside and inside of brackets.
  for (const [at, piece] of name.split(/\[([^[\]]*)\]/).entries()) {
    const isOptional = at % 2 === 1;
    if (piece === '' && !isOptional) continue;
    const read = orMistake(parseName(piece, /[{}[\]]/, parsePart), ['name'], NAME_FORM);
    if (isOptional && !needsData(read)) {
      const expected = 'a pointer such as {/interfaceName} in each [...], since nothing else can be missing';
      throw new RuleMistake(['name'], expected);
    }
    parts.push(...(isOptional ? [{ optional: read }] : read));
  }
  if (parts.length === 0) throw new RuleMistake(['name'], NAME_FORM);
  if (needsData(parts) && (whens.includes('subscribe') || whens.includes('unsubscribe'))) {
    throw new RuleMistake(['name'], 'captures only, since a subscription has no data to point into');
  }
  return parts;
}

function needsData(parts: readonly NamePart[]): boolean {
  return parts.some((part) => typeof part === 'object');
}

function compileReply({ reply }: CometRule, target: CometTarget | undefined): ReplyRule {
  if (reply === undefined) return DEFAULT_REPLY;
  if (target?.action !== 'call') throw new RuleMistake(['reply'], 'no reply, since only a call has one');
  const { channel, id = '/id', error } = reply;
  if (channel !== undefined && !isReplyChannel(channel)) {
    throw new RuleMistake(['reply', 'channel'], REPLY_CHANNEL_FORM);
  }
  return {
    channel,
    id: orMistake(parsePointerTo(ID_PLACE, id), ['reply', 'id'], ID_FORM),
    error: error === undefined ? error : orMistake(parsePointerTo(ERROR_PLACE, error), ['reply', 'error'], ERROR_FORM),
  };
}

const DEFAULT_REPLY: ReplyRule = { channel: undefined, id: ['id'], error: undefined };

/**
 * Texts are compared literally, including escapes and asterisks: in the protocol, `/a` and `/%61` are two channels.
 * Meta channels carry no calls.
 */
function parseChannel(channel: string): Pattern | undefined {
  if (!channel.startsWith('/') || channel.startsWith('/meta/')) return undefined;
  return parsePattern(channel.slice(1), (segment) => (/^[^\s\p{Cc}{}]+$/u.test(segment) ? segment : undefined));
}

function isReplyChannel(channel: string): boolean {
  return parseChannel(channel)?.captures.length === 0;
}

function parsePointerTo(place: RegExp, pointer: string): JsonPointer | undefined {
  return place.test(pointer) ? parsePointer(pointer) : undefined;
}

function text(error: string, isUsable: (written: string) => boolean = () => true) {
  return z
    .string({ error })
    .max(MAX_CHARS, { error: `${error}, of at most ${MAX_CHARS} characters` })
    .refine(isUsable, { error });
}
