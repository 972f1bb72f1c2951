/** The keys below `metrics`, `calls`, `sessions`, `rest` and `comet`: what is counted, for whom, and by which rules. */
import { z } from 'zod';
import { cometRuleSchema, MAX_COMET_RULES } from './rules/comet-rules.ts';
import { DENIED_PATH_FORM, parseDeniedPath, restRuleSchema } from './rules/rest-rules.ts';
import * as key from './schema-keys.ts';
import { trimSlashes } from './upstream-url.ts';

const NAMES = { min: 1, max: 1_000_000 };
const MAX_NAMES_FORM = `a whole number from ${NAMES.min} to ${NAMES.max}, or a group of rpc, sba and object`;

/** In seconds. Durations over an hour count as an hour. */
const BUCKETS_FORM = 'a list of 1 to 40 rising numbers of seconds, from 0.000001 to 3600';
const isRising = (bounds: readonly number[]): boolean => bounds.every((bound, i) => bound > (bounds[i - 1] ?? 0));

const maxNamesByKind = key
  .group('a group of keys', {
    rpc: key.wholeNumber(NAMES, 2_000, 'Maximum number of RPC names.'),
    sba: key.wholeNumber(NAMES, 2_000, 'Maximum number of SBA RPC names.'),
    object: key.wholeNumber(NAMES, 10_000, 'Maximum number of object names.'),
  })
  .prefault({});

export const metrics = key.section('live', 'What is counted, and for how long.', {
  window: key
    .duration('5m', 'Sliding window of percentiles, min, max and mean; at least 1 s.', {
      minMs: 1_000,
    })
    .meta({ reload: 'restart' }),
  durationUnit: key
    .oneOf(['seconds', 'milliseconds'], 'seconds', '`seconds` or `milliseconds` in the metrics answers.')
    .meta({ reload: 'restart' }),
  maxNames: z
    .union([key.intWithin(NAMES, MAX_NAMES_FORM), maxNamesByKind], { error: MAX_NAMES_FORM })
    .transform((written) => (typeof written === 'number' ? { rpc: written, sba: written, object: written } : written))
    .prefault({})
    .describe('Maximum number of names of each kind, or one for all. Others count as `(other)`.'),
  maxNamesPerSession: key.wholeNumber(NAMES, 200, 'Maximum number of names of one session.'),
  prometheus: key.section('restart', 'Fewer series in `/metrics`.', {
    objects: key.oneOf(['all', 'totals'], 'all', '`all`: series of each object. `totals`: one sum for all objects.'),
    buckets: z
      .array(z.number({ error: BUCKETS_FORM }).min(1e-6, { error: BUCKETS_FORM }).max(3_600, { error: BUCKETS_FORM }), {
        error: BUCKETS_FORM,
      })
      .min(1, { error: BUCKETS_FORM })
      .max(40, { error: BUCKETS_FORM })
      .refine(isRising, { error: BUCKETS_FORM })
      .optional()
      .meta({
        description: 'Upper bounds of durations of calls, in seconds. Absent: 15 bounds from 0.001 to 60.',
        examples: [[0.01, 0.1, 1, 10]],
      }),
    names: key.optional(
      key.intWithin(NAMES),
      500,
      'Series for this many names of each kind, the first ones; `(other)` sums up the rest. Absent: for all.',
    ),
  }),
});

const SHARE_FORM = 'a number above 0, at most 1';

const target = key
  .group('a group of name, within and share', {
    name: key.callName(),
    within: key.duration('1s', 'A call meets the target if it is answered below 400 within this time.'),
    share: z
      .number({ error: SHARE_FORM })
      .gt(0, { error: SHARE_FORM })
      .max(1, { error: SHARE_FORM })
      .prefault(0.99)
      .describe('Share of the calls that should meet it.'),
  })
  .transform(({ name, within, share }) => ({ name, withinMs: Number(within), share }));

export const calls = key.section('live', 'Lists of single calls: running and slowest.', {
  slowest: key.wholeNumber(
    { min: 0, max: 1_000 },
    100,
    'How many calls `d2/calls/slowest` lists for each application. 0: none.',
  ),
  // The default of the server's own clients.
  clientTimeout: key.duration(
    '10s',
    'How long clients wait. Later answers count in `d2_calls_late_total`. 0: forever.',
    {
      zero: 'forever',
    },
  ),
  targets: key.listByName(target, {
    form: 'a list of at most 100 groups of name, within and share, each name once',
    description: 'How fast calls should be: `d2_call_target_met_total`, `d2_call_target_missed_total`, the verdict.',
    examples: [[{ name: 'E.Boiler.*', within: '500ms', share: 0.99 }]],
  }),
});

const SECRET_TEXT = 'a text in quotes that is not empty';

const apiKey = key.group('a pair of user and key', {
  user: key.text(SECRET_TEXT, key.NOT_EMPTY).describe('The name to show.'),
  key: key.text(SECRET_TEXT, key.NOT_EMPTY).meta({
    description: 'The key, as programs of that user send it. Never shown.',
    hide: 'always',
  }),
});

export const sessions = key
  .section('live', 'Who is connected.', {
    idle: key.duration('30m', 'A session without a request for this long has ended.'),
    max: key.wholeNumber({ min: 1, max: 1_000_000 }, 10_000, 'Maximum number of sessions.'),
    apiKeys: key.list(apiKey, {
      form: 'a list of pairs of user and key',
      description: 'Users of keys sent as `X-API-Key`: a list of `user` and `key`, in quotes. Keys are never shown.',
      examples: [[{ user: 'reports', key: '0123456789' }]],
      hide: 'all',
    }),
    // The cookie of Tomcat and WildFly.
    cookie: key
      .text('the name of a cookie such as JSESSIONID', /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)
      .prefault('JSESSIONID')
      .meta({ description: 'Cookie that identifies a login.', reload: 'restart' }),
    userField: key.optionalText(
      'the name of a field such as X-Remote-User',
      /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/,
      'X-Remote-User',
      'Response field with the name of the user, for single sign-on: see [statistics.md](statistics.md#single-sign-on).',
    ),
    // The names of the servlet specification (Jakarta Servlet 6, section 13.6.3).
    formLogin: key.section('live', 'The form by which users of Comet log in.', {
      path: key.pathBelow('j_security_check', 'End of the path that a login form is posted to.'),
      userField: key
        .text('the name of a field', key.NOT_EMPTY)
        .prefault('j_username')
        .describe("Field of the form with the user's name."),
    }),
    cometGone: key.duration('5m', 'A Comet session without a connection for this long has ended.'),
  })
  .meta({ hide: 'names' });

export const rest = key.section(
  'live',
  'How requests of the REST interface are classified, and which paths are denied.',
  {
    prefix: key
      .text('a path such as api/rest/v0', /^[^\s?#\\{}]*$/)
      .overwrite(trimSlashes)
      .prefault('api/rest/v0')
      .describe('Path of the REST interface below the application.'),
    rules: key.list(restRuleSchema, {
      form: 'a list of rules',
      description: 'Your rules for requests, tried before the built-in ones: see [Rules](configuration.md#rules).',
      examples: [[{ methods: ['POST'], path: 'd2/batch/{event}/{method}', kind: 'rpc', name: '{event}.{method}' }]],
    }),
    defaultRules: key.yesOrNo(true, 'Whether the built-in rules apply after yours.'),
    deny: key.list(key.parsedText(parseDeniedPath, DENIED_PATH_FORM), {
      form: 'a list of paths such as /manager',
      description:
        'Paths that only clients on loopback may request, with all below them; others get 403: see [tomcat.md](tomcat.md#what-trusts-loopback).',
      examples: [['/manager', '/host-manager']],
    }),
  },
);

const BYTES = { min: 1_024, max: 64 * 1_024 * 1_024 };
const COUNTS = { min: 1, max: 1_000_000 };

export const comet = key.section('live', 'How Comet traffic (the Bayeux protocol) is read: see [comet.md](comet.md).', {
  enabled: key.yesOrNo(true, 'Whether Comet traffic is read. It is relayed in any case.').meta({ reload: 'restart' }),
  path: key.pathBelow('api/cometd', 'Path of the Comet endpoint below the application.'),
  rules: key.list(cometRuleSchema, {
    form: `a list of at most ${MAX_COMET_RULES} rules`,
    max: MAX_COMET_RULES,
    description: 'Your rules for channels, tried before the built-in ones: see [comet.md](comet.md#rules).',
    examples: [[{ channel: '/service/plant/call', kind: 'rpc', name: '{/event}.{/method}' }]],
  }),
  defaultRules: key.yesOrNo(true, 'Whether the built-in rules apply after yours.'),
  userPointers: z
    .array(key.text('a JSON Pointer such as /ext/authentication/user', /^(\/([^~]|~[01])*)+$/), {
      error: 'a list of JSON Pointers',
    })
    .prefault([
      '/ext/authentication/user',
      '/ext/authentication/userName',
      '/ext/authentication/username',
      '/ext/authentication/login',
    ])
    .describe("JSON Pointers to the user's name in a handshake; the first one that finds a text counts."),
  ackWait: key.duration(
    '30s',
    'How long an acknowledged call waits for its answer; then the acknowledgement counts as one.',
  ),
  callTimeout: key.duration('10m', 'A call without an answer for this long counts as failed.'),
  maxBodyBytes: key.wholeNumber(BYTES, 1_048_576, 'Largest body or WebSocket message that is read, in bytes as sent.'),
  maxInflatedBytes: key.wholeNumber(BYTES, 1_048_576, 'The same limit after decompression, in bytes.'),
  maxSubscriptions: key.wholeNumber(COUNTS, 10_000, 'Maximum number of monitorings counted for one client.'),
  maxPendingCalls: key.wholeNumber(COUNTS, 1_000, 'Maximum number of pending calls counted for one client.'),
});
