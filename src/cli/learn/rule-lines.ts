import { isService } from '../../protocol/bayeux/message.ts';
import type { HeardChannel } from './heard-channels.ts';
import type { Tally } from './tally.ts';

/**
 * YAML lines of `comet.rules` for everything that no rule reads; none if all is read, or if no rule can read it.
 * `FILL_IN` marks what only a person can know: `d2-sidecar check` refuses a rule that still has it.
 */
export function formatRules({ pattern, captures, record }: HeardChannel): string[] {
  if (pattern.includes('*') || pattern.length > MAX_CHANNEL_CHARS) return [];
  const channel = JSON.stringify(pattern);
  const lines: string[] = [];
  const calls = formatExamples(captures, record.tallies.get('publish'));
  // On channels that clients subscribe to, messages come back to their sender.
  if (record.isUnread('publish') && record.has('answer') && isService(pattern)) {
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
