/** The keys of `comet`: how Comet connections (the Bayeux protocol) are read. */
import { z } from 'zod';
import { cometRuleSchema, MAX_COMET_RULES } from './comet-rules.ts';
import * as defaults from './defaults.ts';
import { trimSlashes } from './rest-rules.ts';
import { duration, keyForms, section, wholeNumber, yesOrNo } from './schema-keys.ts';

const POINTER_FORM = 'a JSON Pointer such as /ext/authentication/user';
const RULES_FORM = `a list of at most ${MAX_COMET_RULES} rules`;
const PATH_FORM = 'a path such as api/cometd';
const BYTES = { min: 1_024, max: 64 * 1_024 * 1_024 };
const COUNTS = { min: 1, max: 1_000_000 };

export const comet = section(
  {
    enabled: yesOrNo(defaults.DEFAULT_COMET_ENABLED, 'Whether Comet traffic is read. It passes in any case.'),
    path: z
      .string({ error: PATH_FORM })
      .regex(/^[^\s?#\\{}]*[^\s?#\\{}/][^\s?#\\{}]*$/, { error: PATH_FORM })
      .transform(trimSlashes)
      .prefault(defaults.DEFAULT_COMET_PATH)
      .describe('Path of the Comet endpoint below the application.')
      .register(keyForms, { form: 'text' }),
    rules: z
      .array(cometRuleSchema, { error: RULES_FORM })
      .max(MAX_COMET_RULES, { error: RULES_FORM })
      .prefault([])
      .describe('Rules of your own that say what happens on a channel; tried in their order, before the built-in ones.')
      .register(keyForms, { form: 'yaml' }),
    defaultRules: yesOrNo(defaults.DEFAULT_USE_DEFAULT_RULES, 'Whether the built-in rules follow yours.'),
    userPointers: z
      .array(z.string({ error: POINTER_FORM }).regex(/^(\/([^~]|~[01])*)+$/, { error: POINTER_FORM }), {
        error: 'a list of JSON Pointers',
      })
      .prefault([...defaults.DEFAULT_COMET_USER_POINTERS])
      .describe(
        'Where a handshake says the name of its user, as JSON Pointers into the message; the first text counts.',
      )
      .register(keyForms, { form: 'texts' }),
    ackWait: duration(
      defaults.DEFAULT_COMET_ACK_WAIT,
      'How long after a plain acknowledgement the answer of a call may come; then the acknowledgement was the answer.',
    ),
    callTimeout: duration(
      defaults.DEFAULT_COMET_CALL_TIMEOUT,
      'A call without any answer for this long has failed, as far as statistics go.',
    ),
    maxBodyBytes: wholeNumber(
      BYTES,
      defaults.DEFAULT_COMET_MAX_BODY_BYTES,
      'Largest body or WebSocket message that is read, in bytes as they are sent. A larger one passes unread.',
    ),
    maxInflatedBytes: wholeNumber(
      BYTES,
      defaults.DEFAULT_COMET_MAX_INFLATED_BYTES,
      'Largest body or WebSocket message that is read, in bytes without its compression. A larger one passes unread.',
    ),
    maxSubscriptions: wholeNumber(
      COUNTS,
      defaults.DEFAULT_COMET_MAX_SUBSCRIPTIONS,
      'Most monitorings of one client that are counted.',
    ),
    maxPendingCalls: wholeNumber(
      COUNTS,
      defaults.DEFAULT_COMET_MAX_PENDING_CALLS,
      'Most calls of one client that may wait for their answers at a time and are counted.',
    ),
  },
  'How Comet traffic (the Bayeux protocol) is read.',
);
