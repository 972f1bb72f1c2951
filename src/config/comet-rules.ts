/** Checks a rule of `comet.rules`, so that the classifier can use it. */
import { z } from 'zod';
import { toChoice } from './schema-keys.ts';

/** Every message that no earlier rule takes is compared with all of them. */
export const MAX_COMET_RULES = 200;

// The same patterns as in measure/classify/comet-rule-compiler.ts, which this folder must not import: a rule that
// passes here has to pass there.
const CAPTURE = /^\{([A-Za-z_][A-Za-z0-9_]*)\}$/;
const TEXT_SEGMENT = /^[^\s\p{Cc}{}]+$/u;
const POINTER = /^(?:\/(?:[^~/]|~[01])*){1,32}$/;
const ID_PLACE = /^\/(?:id$|data\/|ext\/)/;
const ERROR_PLACE = /^\/(?:error$|data(?:\/|$)|ext(?:\/|$))/;
const KINDS = ['rpc', 'sba', 'object', 'none'] as const;
const WHENS = ['subscribe', 'unsubscribe', 'publish', 'delivery'] as const;
const ACTIONS = ['call', 'subscribe', 'unsubscribe', 'value'] as const;
/** The first one is the default. */
const ALLOWED_WHENS = {
  call: ['publish'],
  subscribe: ['subscribe', 'publish'],
  unsubscribe: ['unsubscribe', 'publish'],
  value: ['delivery'],
} as const satisfies Record<(typeof ACTIONS)[number], readonly (typeof WHENS)[number][]>;
const MAX_CHARS = 256;

const CHANNEL_FORM = 'a channel such as /d2/object/{name}, where each segment is a text or one {capture}';
const NAME_FORM = 'a name with captures and pointers such as {name} or {/eventName}[.{/interfaceName}].{/rpcName}';
const REPLY_CHANNEL_FORM = 'a channel such as /service/d2/answer, without captures';
const ID_FORM = 'a JSON Pointer into the message: /id, or below /data or /ext such as /data/requestId';
const ERROR_FORM = 'a JSON Pointer into the answer: /error, or into /data or /ext such as /data/error';

const replySchema = z
  .strictObject(
    {
      channel: text(REPLY_CHANNEL_FORM)
        .refine((channel) => isChannel(channel) && toCaptures(channel).length === 0, { error: REPLY_CHANNEL_FORM })
        .optional()
        .describe('Channel that the answer comes on. Absent: that of the call.'),
      id: pointer(ID_PLACE, ID_FORM)
        .optional()
        .describe('JSON Pointer to what ties call and answer together, in both messages. Absent: /id.'),
      error: pointer(ERROR_PLACE, ERROR_FORM)
        .optional()
        .describe('JSON Pointer into the answer; anything there but null, false and an empty text means failure.'),
    },
    { error: 'a group of channel, id and error' },
  )
  .describe('How the answer to a call is found.');

export const cometRuleSchema = z
  .strictObject(
    {
      channel: text(CHANNEL_FORM)
        // Without a valid channel, the name cannot be checked.
        .refine(isChannel, { error: CHANNEL_FORM, abort: true })
        .describe('Channel with captures: /d2/object/{name}. A capture takes exactly one segment.'),
      when: z
        .enum(WHENS, { error: toChoice(WHENS) })
        .optional()
        .describe(
          'What happens on the channel: a client subscribes or unsubscribes it or sends a message to it, or the server delivers one. Absent: what the action needs; anything for kind none.',
        ),
      kind: z
        .enum(KINDS, { error: toChoice(KINDS) })
        .describe('What a match is; none passes it uncounted, to take something out of a later rule.'),
      action: z
        .enum(ACTIONS, { error: toChoice(ACTIONS) })
        .optional()
        .describe('call for kinds rpc and sba, also if absent; subscribe, unsubscribe or value for object.'),
      name: text(NAME_FORM)
        .prefault('')
        .describe(
          'Name with captures and with JSON Pointers into data: {/eventName}[.{/interfaceName}].{/rpcName}, where a part in brackets vanishes if there is nothing. Absent for none.',
        ),
      reply: replySchema.optional(),
    },
    { error: 'a rule with channel, kind, action and name' },
  )
  .superRefine((rule, context) => {
    for (const [path, message] of findMistakes(rule)) {
      context.issues.push({ code: 'custom', path: [path], message, input: rule[path] });
    }
  });

interface WrittenRule {
  readonly channel: string;
  readonly when?: (typeof WHENS)[number] | undefined;
  readonly kind: (typeof KINDS)[number];
  readonly action?: (typeof ACTIONS)[number] | undefined;
  readonly name: string;
  readonly reply?: unknown;
}

/** Mistakes that concern several keys of a rule: the key, and what it should have been. */
function findMistakes(rule: WrittenRule): ['action' | 'when' | 'name' | 'reply', string][] {
  const { kind, when, name } = rule;
  if (kind === 'none') {
    if (rule.action !== undefined) return [['action', 'no action, since kind none is not counted']];
    if (name !== '') return [['name', 'no name, since kind none is not counted']];
    return rule.reply === undefined ? [] : [['reply', 'no reply, since only a call has one']];
  }
  const isObject = kind === 'object';
  const action = rule.action ?? (isObject ? undefined : 'call');
  if (action === undefined || (isObject && action === 'call')) {
    return [['action', 'subscribe, unsubscribe or value, since kind is object']];
  }
  if (!isObject && action !== 'call') return [['action', `call, since kind is ${kind}`]];
  const allowed: readonly string[] = ALLOWED_WHENS[action];
  if (when !== undefined && !allowed.includes(when)) {
    return [['when', `${allowed.join(' or ')} for action ${action}`]];
  }
  const expectedName = findNameMistake(rule, when ?? ALLOWED_WHENS[action][0]);
  if (expectedName !== undefined) return [['name', expectedName]];
  return action === 'call' || rule.reply === undefined ? [] : [['reply', 'no reply, since only a call has one']];
}

/** The name that the rule should have had; undefined if it is right. */
function findNameMistake({ channel, name }: WrittenRule, when: string): string | undefined {
  const pieces = name.split(/(\[[^[\]]*\])/).filter(Boolean);
  if (pieces.length === 0) return NAME_FORM;
  const captures = toCaptures(channel);
  let hasPointer = false;
  for (const piece of pieces) {
    const isOptional = piece.startsWith('[') && piece.endsWith(']');
    const inner = isOptional ? piece.slice(1, -1) : piece;
    if (/[{}[\]]/.test(inner.replace(/\{[^{}]*\}/g, ''))) return NAME_FORM;
    const references = [...inner.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? '');
    const pointers = references.filter((reference) => POINTER.test(reference));
    if (references.some((reference) => !captures.includes(reference) && !pointers.includes(reference))) {
      return `only captures that are in the channel ${channel} and JSON Pointers into data such as {/objectName}`;
    }
    if (isOptional && pointers.length === 0) {
      return 'a pointer such as {/interfaceName} in each [...], since nothing else can be missing';
    }
    hasPointer ||= pointers.length > 0;
  }
  if (hasPointer && (when === 'subscribe' || when === 'unsubscribe')) {
    return 'captures only, since a subscription has no data to point into';
  }
  return undefined;
}

function isChannel(channel: string): boolean {
  const captures = toCaptures(channel);
  if (!channel.startsWith('/') || channel.startsWith('/meta/') || new Set(captures).size !== captures.length)
    return false;
  return channel
    .slice(1)
    .split('/')
    .every((segment) => CAPTURE.test(segment) || TEXT_SEGMENT.test(segment));
}

function toCaptures(channel: string): readonly string[] {
  return channel
    .split('/')
    .map((segment) => CAPTURE.exec(segment)?.[1])
    .filter((name) => name !== undefined);
}

function text(error: string) {
  return z.string({ error }).max(MAX_CHARS, { error: `${error}, of at most ${MAX_CHARS} characters` });
}

function pointer(place: RegExp, error: string) {
  return text(error).refine((written) => POINTER.test(written) && place.test(written), { error });
}
