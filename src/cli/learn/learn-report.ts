/**
 * The output of `d2-sidecar learn`: a YAML document of rules to fill in, with findings in comments. It has no values,
 * and its names passed the checks of name-node.ts.
 */
import { sanitizeText } from '../../base/shown-text.ts';
import { isService } from '../../protocol/bayeux/message.ts';
import { SKIPPED_WORDS } from './bounds.ts';
import type { ChannelEvent, HeardChannel } from './heard-channels.ts';
import type { Findings } from './survey.ts';
import type { Tally } from './tally.ts';

/** `elapsedS`: how long learn listened, in seconds. */
export function formatLearnReport(findings: Findings, elapsedS: number): string {
  const rules = new Map(findings.channels.map((channel) => [channel, formatRules(channel)]));
  const open = findings.channels.filter((channel) => rules.get(channel)?.length !== 0).slice(0, MAX_OPEN_CHANNELS);
  const done = findings.channels.filter((channel) => !open.includes(channel));
  const lines = [...formatComments('', summarise(findings, elapsedS)), ''];
  if (done.length > 0) lines.push('# Channels with nothing to fill in:', '#');
  lines.push(...done.flatMap((channel) => [...formatComments('', describeChannel(channel)), '']));
  if (open.length > 0) lines.push(...formatComments('', HOW_TO_FILL_IN), 'comet:', '  rules:');
  else lines.push('comet:', '  rules: []', '');
  for (const channel of open) {
    lines.push(...formatComments('    ', describeChannel(channel)));
    lines.push(...(rules.get(channel) ?? []).map((line) => `    ${line}`), '');
  }
  return lines.join('\n');
}

function summarise({ channels, skipped, ...numbers }: Findings, elapsedS: number): string[] {
  const { clientMessages, upstreamMessages, failures } = numbers;
  const lines = [
    `d2-sidecar learn: ${Math.round(elapsedS)} s, messages from clients: ${clientMessages}, from the server: ${upstreamMessages}, channels: ${channels.length}.`,
    'Variable parts: {name} is a segment of a channel, {} a key of an object, {n} an entry of a list. "always" means that',
    'every object at that place has the field. No values are shown.',
  ];
  if (channels.length === 0) {
    lines.push('No channel was used. Clients have to connect through the sidecar (--listen), to an application of its');
    lines.push('configuration, on the path comet.path.');
  }
  for (const [bound, count] of skipped) lines.push(`A bound was hit by ${SKIPPED_WORDS[bound]}: ${count}.`);
  if (failures > 0) lines.push(`${failures} messages could not be read because of a bug in the sidecar.`);
  return lines;
}

function describeChannel({ pattern, record }: HeardChannel): string[] {
  const events = Object.entries(EVENT_WORDS).flatMap(([event, word]) => {
    const tally = record.tallies.get(event as ChannelEvent);
    return tally === undefined ? [] : [{ tally, word }];
  });
  return [
    pattern,
    ...events.flatMap(({ tally, word }) => {
      const read = tally.read === 0 ? '' : `, ${tally.read} of them read by a rule`;
      return [`  ${word}: ${tally.count}${read}`, ...describeShape(tally)];
    }),
    ...(pattern.includes('*') ? ['  A wildcard stands for several channels; write rules for those.'] : []),
  ];
}

function describeShape(tally: Tally): string[] {
  const { fields } = tally;
  const width = Math.min(MAX_WIDTH, Math.max(0, ...fields.map(({ pointer }) => pointer.length)));
  const lines = fields.slice(0, MAX_FIELDS_SHOWN).map(({ pointer, types, isAlways, isName }) => {
    const often = `${isAlways ? 'always' : 'sometimes'}${isName ? ', its key suggests a name' : ''}`;
    return `    ${(pointer || '(data)').padEnd(width)}  ${types.join(' or ')}, ${often}`;
  });
  return lines.length < fields.length ? [...lines, `    and ${fields.length - lines.length} more`] : lines;
}

/** Makes each line a comment; no text can break out of it. */
function formatComments(indent: string, lines: readonly string[]): string[] {
  return lines.map((line) => `${indent}# ${sanitizeText(line)}`.trimEnd());
}

const EVENT_WORDS: Readonly<Record<ChannelEvent, string>> = {
  subscribe: 'subscribed by clients',
  forbidden: 'subscriptions refused by the server',
  unsubscribe: 'unsubscribed by clients',
  publish: 'published by clients',
  acknowledged: 'acknowledged by the server without data',
  refused: 'refused by the server',
  answer: 'answered by the server with the same id',
  delivery: 'delivered by the server',
};
const HOW_TO_FILL_IN = [
  'Channels that no rule reads. Replace each FILL_IN, delete the rules that you do not need, run `d2-sidecar check`.',
  'docs/comet.md#rules has every key. In a name, {/pointer} is a field of the data; write [.{/pointer}] for an',
  'optional field. Add reply: { error: /data/... } to a call if a field of its answer reports a failure.',
];
/** With at most four rules each, about as many as a configuration may have (200). */
const MAX_OPEN_CHANNELS = 60;
const MAX_FIELDS_SHOWN = 60;
const MAX_WIDTH = 40;

/**
 * YAML lines of `comet.rules` for everything that no rule reads; none if all is read, or if no rule can read it.
 * `FILL_IN` marks what only a person can know: `d2-sidecar check` refuses a rule that still has it.
 */
function formatRules({ pattern, captures, record }: HeardChannel): string[] {
  if (pattern.includes('*') || pattern.length > MAX_CHANNEL_CHARS) return [];
  const channel = JSON.stringify(pattern);
  const lines: string[] = [];
  const calls = formatExamples(captures, record.tallies.get('publish'));
  // On channels that clients subscribe to, messages come back to their sender.
  if (record.isUnread('publish') && record.tallies.has('answer') && isService(pattern)) {
    lines.push(
      `- channel: ${channel}`,
      '  kind: rpc # answered, so a call; or sba',
      `  name: "{FILL_IN}" # what is called${calls}`,
    );
  } else if (record.isUnread('publish')) {
    lines.push(
      `- channel: ${channel}`,
      '  when: publish',
      '  kind: FILL_IN # object if the message subscribes or unsubscribes one; rpc or sba if it is a call',
      '  action: FILL_IN # subscribe or unsubscribe; call for a call',
      `  name: "{FILL_IN}" # of the object, or what is called${calls}`,
      '  # For a call that is answered on another channel: that channel, and the id in both messages, such as /data/callId.',
      '  # reply: { channel: FILL_IN, id: FILL_IN }',
    );
  }
  const isSubscribed = record.isUnread('subscribe');
  const values = formatExamples([], record.tallies.get('delivery'));
  for (const [action, isOpen] of [
    ['subscribe', isSubscribed],
    ['unsubscribe', isSubscribed || record.isUnread('unsubscribe')],
    ['value', record.isUnread('delivery')],
  ] as const) {
    if (!isOpen) continue;
    const isNamed = captures.length > 0;
    const name = isNamed ? captures.map((capture) => `{${capture}}`).join('.') : '{FILL_IN}';
    const help = isNamed ? '' : ` # a fixed name${action === 'value' ? `, or the object's${values}` : ''}`;
    lines.push(`- { channel: ${channel}, kind: object, action: ${action}, name: "${name}" }${help}`);
  }
  return lines;
}

/** `, such as {/task}, {/procedure}` */
function formatExamples(captures: readonly string[], tally: Tally | undefined): string {
  const fields = (tally?.fields ?? []).filter(({ isName }) => isName).slice(0, MAX_EXAMPLES);
  const names = [...captures, ...fields.map(({ pointer }) => pointer)];
  return names.length === 0 ? '' : `, such as ${names.map((name) => `{${name}}`).join(', ')}`;
}

const MAX_EXAMPLES = 6;
/** The limit of the configuration. */
const MAX_CHANNEL_CHARS = 256;
