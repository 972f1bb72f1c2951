/** The keys of `comet`: how Comet connections (the Bayeux protocol) are read. */
import { z } from 'zod';
import { cometRuleSchema, MAX_COMET_RULES } from './rules/comet-rules.ts';
import { duration, pathBelow, section, text, wholeNumber, yesOrNo } from './schema-keys.ts';

const RULES_FORM = `a list of at most ${MAX_COMET_RULES} rules`;
const BYTES = { min: 1_024, max: 64 * 1_024 * 1_024 };
const COUNTS = { min: 1, max: 1_000_000 };

export const comet = section('live', 'How Comet traffic (the Bayeux protocol) is read: see [comet.md](comet.md).', {
  enabled: yesOrNo(true, 'Whether Comet traffic is read. It is relayed in any case.').meta({ reload: 'restart' }),
  path: pathBelow('api/cometd', 'Path of the Comet endpoint below the application.'),
  rules: z
    .array(cometRuleSchema, { error: RULES_FORM })
    .max(MAX_COMET_RULES, { error: RULES_FORM })
    .prefault([])
    .meta({
      description: 'Your rules for channels, tried before the built-in ones: see [comet.md](comet.md#rules).',
      examples: [[{ channel: '/service/plant/call', kind: 'rpc', name: '{/event}.{/method}' }]],
    }),
  defaultRules: yesOrNo(true, 'Whether the built-in rules apply after yours.'),
  userPointers: z
    .array(text('a JSON Pointer such as /ext/authentication/user', /^(\/([^~]|~[01])*)+$/), {
      error: 'a list of JSON Pointers',
    })
    .prefault([
      '/ext/authentication/user',
      '/ext/authentication/userName',
      '/ext/authentication/username',
      '/ext/authentication/login',
    ])
    .describe("JSON Pointers to the user's name in a handshake; the first one that finds a text counts."),
  ackWait: duration(
    '30s',
    'How long an acknowledged call waits for its answer; then the acknowledgement counts as the answer.',
  ),
  callTimeout: duration('10m', 'A call without an answer for this long counts as failed.'),
  maxBodyBytes: wholeNumber(BYTES, 1_048_576, 'Largest body or WebSocket message that is read, in bytes as sent.'),
  maxInflatedBytes: wholeNumber(BYTES, 1_048_576, 'The same limit after decompression, in bytes.'),
  maxSubscriptions: wholeNumber(COUNTS, 10_000, 'Maximum number of monitorings counted for one client.'),
  maxPendingCalls: wholeNumber(COUNTS, 1_000, 'Maximum number of pending calls counted for one client.'),
});
