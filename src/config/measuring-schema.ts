/** The keys below `metrics`, `sessions` and `rest`: what is counted, for whom, and by which rules. */
import { z } from 'zod';
import { DENIED_PATH_FORM, parseDeniedPath, restRuleSchema } from './rules/rest-rules.ts';
import {
  duration,
  intWithin,
  NOT_EMPTY,
  oneOf,
  optionalText,
  parsedText,
  pathBelow,
  section,
  text,
  wholeNumber,
  yesOrNo,
} from './schema-keys.ts';
import { trimSlashes } from './upstream-url.ts';

const NAMES = { min: 1, max: 1_000_000 };
const MAX_NAMES_FORM = `a whole number from ${NAMES.min} to ${NAMES.max}, or a group of rpc, sba and object`;

/** In seconds. Durations over an hour count as an hour. */
const BUCKETS_FORM = 'a list of 1 to 40 rising numbers of seconds, from 0.000001 to 3600';
const isRising = (bounds: readonly number[]): boolean => bounds.every((bound, i) => bound > (bounds[i - 1] ?? 0));

const maxNamesByKind = z
  .strictObject(
    {
      rpc: wholeNumber(NAMES, 2_000, 'Maximum number of RPC names.'),
      sba: wholeNumber(NAMES, 2_000, 'Maximum number of SBA RPC names.'),
      object: wholeNumber(NAMES, 10_000, 'Maximum number of object names.'),
    },
    { error: 'a group of keys' },
  )
  .prefault({});

export const metrics = section('live', 'What is counted, and for how long.', {
  window: duration('5m', 'Sliding window of percentiles, min, max and mean. At least 1 s.', {
    minMs: 1_000,
  }).meta({ reload: 'restart' }),
  durationUnit: oneOf(
    ['seconds', 'milliseconds'],
    'seconds',
    '`seconds` or `milliseconds` in the metrics answers.',
  ).meta({ reload: 'restart' }),
  maxNames: z
    .union([intWithin(NAMES, MAX_NAMES_FORM), maxNamesByKind], { error: MAX_NAMES_FORM })
    .transform((written) => (typeof written === 'number' ? { rpc: written, sba: written, object: written } : written))
    .prefault({})
    .describe('Maximum number of names of each kind, or one number for all. Further names count as `(other)`.'),
  maxNamesPerSession: wholeNumber(NAMES, 200, 'Maximum number of names in the statistics of one session.'),
  prometheus: section('restart', 'Fewer series in `/metrics`.', {
    objects: oneOf(['all', 'totals'], 'all', '`all`: series of each object. `totals`: one sum for all objects.'),
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
    names: intWithin(NAMES, `a whole number from ${NAMES.min} to ${NAMES.max}`)
      .optional()
      .meta({
        description:
          'Series for the first this many names of each kind until the restart; the rest is added up as `(other)`. Absent: for all.',
        examples: [500],
      }),
  }),
});

const TARGET_NAME = 'a name such as E.Boiler.Start, or E.Boiler.* for all names that begin so';
const TARGETS_FORM = 'a list of at most 100 groups of name, within and share, each name once';
const SHARE_FORM = 'a number above 0, at most 1';

const target = z
  .strictObject(
    {
      name: text(TARGET_NAME, /^(?=.)[^*]*\*?$/s).describe(
        'A name of an RPC or SBA RPC; `*` at its end stands for any rest.',
      ),
      within: duration('1s', 'A call meets the target if it is answered below 400 within this time.'),
      share: z
        .number({ error: SHARE_FORM })
        .gt(0, { error: SHARE_FORM })
        .max(1, { error: SHARE_FORM })
        .prefault(0.99)
        .describe('Share of the calls that should meet it.'),
    },
    { error: 'a group of name, within and share' },
  )
  .transform(({ name, within, share }) => ({ name, withinMs: Number(within), share }));

export const calls = section('live', 'Lists of single calls: running and slowest.', {
  slowest: wholeNumber(
    { min: 0, max: 1_000 },
    100,
    'How many calls of the last hour `d2/calls/slowest` lists for each application. 0: none.',
  ),
  // The default of the server's own clients.
  clientTimeout: duration('10s', 'How long clients wait. Later answers count in `d2_calls_late_total`. 0: forever.', {
    zero: 'forever',
  }),
  targets: z
    .array(target, { error: TARGETS_FORM })
    .max(100, { error: TARGETS_FORM })
    .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, { error: TARGETS_FORM })
    .prefault([])
    .meta({
      description: 'How fast calls should be: `d2_call_target_met_total`, `d2_call_target_missed_total`, the verdict.',
      examples: [[{ name: 'E.Boiler.*', within: '500ms', share: 0.99 }]],
    }),
});

const SECRET_TEXT = 'a text in quotes that is not empty';

const apiKey = z.strictObject(
  {
    user: text(SECRET_TEXT, NOT_EMPTY).describe('The name to show.'),
    key: text(SECRET_TEXT, NOT_EMPTY).meta({
      description: 'The key, as programs of that user send it. Never shown.',
      hide: 'always',
    }),
  },
  { error: 'a pair of user and key' },
);

export const sessions = section('live', 'Who is connected.', {
  idle: duration('30m', 'A session without a request for this long has ended.'),
  max: wholeNumber({ min: 1, max: 1_000_000 }, 10_000, 'Maximum number of sessions.'),
  apiKeys: z
    .array(apiKey, { error: 'a list of pairs of user and key' })
    .prefault([])
    .meta({
      description: 'Users of keys sent as `X-API-Key`: a list of `user` and `key`, in quotes. Keys are never shown.',
      examples: [[{ user: 'reports', key: '0123456789' }]],
      hide: 'all',
    }),
  // The cookie of Tomcat and WildFly.
  cookie: text('the name of a cookie such as JSESSIONID', /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)
    .prefault('JSESSIONID')
    .meta({ description: 'Cookie that identifies a login.', reload: 'restart' }),
  userField: optionalText(
    'the name of a field such as X-Remote-User',
    /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/,
    'X-Remote-User',
    'Response field with the name of the user, for single sign-on: see [statistics.md](statistics.md#single-sign-on).',
  ),
  // The names of the servlet specification (Jakarta Servlet 6, section 13.6.3).
  formLogin: section('live', 'The form by which users of Comet log in.', {
    path: pathBelow('j_security_check', 'End of the path that a login form is posted to.'),
    userField: text('the name of a field', NOT_EMPTY)
      .prefault('j_username')
      .describe("Field of the form with the user's name."),
  }),
  cometGone: duration('5m', 'A Comet session without any connection for this long has ended.'),
}).meta({ hide: 'names' });

export const rest = section('live', 'How requests of the REST interface are classified, and which paths are denied.', {
  prefix: text('a path such as api/rest/v0', /^[^\s?#\\{}]*$/)
    .overwrite(trimSlashes)
    .prefault('api/rest/v0')
    .describe('Path of the REST interface below the application.'),
  rules: z
    .array(restRuleSchema, { error: 'a list of rules' })
    .prefault([])
    .meta({
      description: 'Your rules for requests, tried before the built-in ones: see [Rules](configuration.md#rules).',
      examples: [[{ methods: ['POST'], path: 'd2/batch/{event}/{method}', kind: 'rpc', name: '{event}.{method}' }]],
    }),
  defaultRules: yesOrNo(true, 'Whether the built-in rules apply after yours.'),
  deny: z
    .array(parsedText(parseDeniedPath, DENIED_PATH_FORM), { error: 'a list of paths such as /manager' })
    .prefault([])
    .meta({
      description:
        'Paths that only clients on loopback may request, with everything below them; others get 403: see [tomcat.md](tomcat.md#what-trusts-loopback).',
      examples: [['/manager', '/host-manager']],
    }),
});
