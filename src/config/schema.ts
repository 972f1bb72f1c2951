/**
 * Defines how the configuration is written: its keys, defaults and allowed values. It is the one source for the check
 * at the start, `config/schema.json`, the environment variables and the tables in the documentation.
 */
import { z } from 'zod';
import { accessLog } from './access-log-schema.ts';
import { comet } from './comet-schema.ts';
import * as defaults from './defaults.ts';
import { jvm } from './jvm-schema.ts';
import { otlp } from './otlp-schema.ts';
import { DENIED_PATH_FORM, parseDeniedPath, restRuleSchema, trimSlashes } from './rest-rules.ts';
import { duration, keyForms, oneOf, parsedText, port, section, wholeNumber, yesOrNo } from './schema-keys.ts';
import { listenerTls, upstreamTls } from './tls-schema.ts';
import { parseContextPath, parseUpstreamUrl, UPSTREAM_URL_FORM } from './upstream-url.ts';

const HOST_FORM = 'an address or host name such as 127.0.0.1, 0.0.0.0, :: or localhost';
const NAMES = { min: 1, max: 1_000_000 };
const COOKIE_FORM = 'the name of a cookie such as JSESSIONID';
const LOGIN_PATH_FORM = 'a path such as j_security_check';
const STATE_FILE_FORM = 'the path of a file such as /var/lib/d2-sidecar/state';
const SECRET_TEXT = 'a text in quotes that is not empty';

function host(byDefault: string, description: string) {
  return z
    .string({ error: HOST_FORM })
    .regex(/^(?:[A-Za-z0-9._-]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(?:%\w+)?)$/, { error: HOST_FORM })
    .prefault(byDefault)
    .describe(description)
    .register(keyForms, { form: 'text' });
}

const listen = section(
  {
    host: host(defaults.DEFAULT_LISTEN_HOST, 'Address to take clients on.'),
    port: port(defaults.DEFAULT_LISTEN_PORT, 'Port to take clients on; 0 takes a free one.'),
    tls: listenerTls('the port for clients'),
  },
  'Where clients connect.',
);

const upstream = section(
  {
    url: parsedText(parseUpstreamUrl, UPSTREAM_URL_FORM)
      .optional()
      .describe(`The application server, ${UPSTREAM_URL_FORM}. Required, here or as --upstream.`)
      .register(keyForms, { form: 'text' }),
    connectTimeout: duration(
      defaults.DEFAULT_CONNECT_TIMEOUT,
      'How long the application server may take to accept a connection.',
    ),
    responseTimeout: duration(
      defaults.DEFAULT_RESPONSE_TIMEOUT,
      'From the end of a request to the first byte of its response; 0 is no limit, so that long polls may be held.',
      { zero: 'no limit' },
    ),
    tls: upstreamTls,
  },
  'The application server.',
);

const applications = z
  .array(parsedText(parseContextPath, 'a context path such as smartWeb, or / for the root context'), {
    error: 'a list of context paths',
  })
  .prefault([])
  .describe('Context paths whose requests are classified, besides the one in upstream.url; / is the root context.')
  .register(keyForms, { form: 'texts' });

const AUTH_FORM = 'none, or a group of usersFile, tokensFile and certificates';
const CERTIFICATE_NAME_FORM = 'the common name of a certificate, 1 to 64 characters';
const ROLE_FORM = 'metrics or sessions';
const ACCESS_FILE_FORM = 'the path of a file';
const HOST_NAME_FORM = 'a host name without a port, such as d2-sidecar.plant.example';

function accessFile(description: string) {
  return (
    z
      .string({ error: ACCESS_FILE_FORM })
      .min(1, { error: ACCESS_FILE_FORM })
      // Refuses a line of such a file in the place of its path, because messages would show it.
      .regex(/^(?!.*(?:scrypt|sha256)\$)/, { error: ACCESS_FILE_FORM })
      .optional()
      .describe(description)
      .register(keyForms, { form: 'text' })
  );
}

const certificateReader = z.strictObject(
  {
    name: z
      .string({ error: CERTIFICATE_NAME_FORM })
      // RFC 5280 appendix A.1: ub-common-name. No invisible characters, and none that reverse the direction of text.
      .regex(/^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u, { error: CERTIFICATE_NAME_FORM })
      .describe('Common name of the subject of the certificate.'),
    role: z.enum(['metrics', 'sessions'], { error: ROLE_FORM }).describe('What it may read.'),
  },
  { error: 'a pair of name and role' },
);

const accessFiles = z.strictObject(
  {
    usersFile: accessFile('File of users and the hashes of their passwords; d2-sidecar passwd writes it.'),
    tokensFile: accessFile('File of the hashes of tokens; d2-sidecar passwd --token writes it.'),
    certificates: z
      .array(certificateReader, { error: 'a list of pairs of name and role' })
      .optional()
      .describe('Clients known by their certificate, which monitor.tls has to ask for.')
      .register(keyForms, { form: 'yaml' }),
  },
  { error: 'a group of keys' },
);

const monitor = section(
  {
    host: host(
      defaults.DEFAULT_MONITOR_HOST,
      'Address of the monitoring port. Not loopback: monitor.auth has to be set.',
    ),
    port: port(defaults.DEFAULT_MONITOR_PORT, 'The monitoring port; 0 takes a free one.'),
    tls: listenerTls('the monitoring port'),
    auth: z
      .union([z.enum(['none'], { error: AUTH_FORM }), accessFiles], { error: AUTH_FORM })
      .optional()
      .describe(
        'Who may read: none lets everybody who reaches the port; files let those in them. Needed where monitor.host is not loopback.',
      )
      .register(keyForms, { form: 'text' }),
    hosts: z
      .array(
        z
          .string({ error: HOST_NAME_FORM })
          .regex(/^[A-Za-z0-9._-]+$/, { error: HOST_NAME_FORM })
          .transform((name) => name.toLowerCase()),
        { error: 'a list of host names' },
      )
      .prefault([])
      .describe('Names by which the monitoring port is asked for, besides addresses, localhost and monitor.host.')
      .register(keyForms, { form: 'texts' }),
    readyWithUpstream: yesOrNo(
      defaults.DEFAULT_READY_WITH_UPSTREAM,
      'Whether /readyz is 503 while the application server cannot be reached.',
    ),
    maxConnections: wholeNumber(
      { min: 1, max: 1_000_000 },
      defaults.DEFAULT_MONITOR_MAX_CONNECTIONS,
      'Most connections to the monitoring port at a time.',
    ),
    maxConnectionsPerAddress: wholeNumber(
      { min: 0, max: 1_000_000 },
      defaults.DEFAULT_MONITOR_MAX_CONNECTIONS_PER_ADDRESS,
      'Most connections of one address to the monitoring port at a time; 0 is no limit.',
    ),
    headTimeout: duration(
      defaults.DEFAULT_MONITOR_HEAD_TIMEOUT,
      'How long a request to the monitoring port may take to come.',
    ),
    idleTimeout: duration(
      defaults.DEFAULT_MONITOR_IDLE_TIMEOUT,
      'How long a connection to the monitoring port may be silent.',
    ),
    maxAnswerBytes: wholeNumber(
      { min: 1_024, max: 1_073_741_824 },
      defaults.DEFAULT_MONITOR_MAX_ANSWER_BYTES,
      'Largest answer of the monitoring port, in bytes.',
    ),
  },
  'The read-only monitoring server.',
);

const maxNamesByKind = z
  .strictObject(
    {
      rpc: wholeNumber(NAMES, defaults.DEFAULT_MAX_RPC_NAMES, 'Names of RPCs.'),
      sba: wholeNumber(NAMES, defaults.DEFAULT_MAX_SBA_NAMES, 'Names of SBA RPCs.'),
      object: wholeNumber(NAMES, defaults.DEFAULT_MAX_OBJECT_NAMES, 'Names of objects.'),
    },
    { error: 'a group of keys' },
  )
  .prefault({});

const MAX_NAMES_FORM = `a whole number from ${NAMES.min} to ${NAMES.max}, or a group of rpc, sba and object`;

const maxNamesOfEach = z
  .int({ error: MAX_NAMES_FORM })
  .min(NAMES.min, { error: MAX_NAMES_FORM })
  .max(NAMES.max, { error: MAX_NAMES_FORM });

const metrics = section(
  {
    window: duration(defaults.DEFAULT_METRICS_WINDOW, 'Sliding window that percentiles, min, max and mean describe.', {
      minMs: 1_000,
    }),
    durationUnit: oneOf(
      ['seconds', 'milliseconds'],
      defaults.DEFAULT_DURATION_UNIT,
      'Unit of durations in the metrics answers.',
    ),
    maxNames: z
      .union([maxNamesOfEach, maxNamesByKind], { error: MAX_NAMES_FORM })
      .transform((written) => (typeof written === 'number' ? { rpc: written, sba: written, object: written } : written))
      .prefault({})
      .describe('Most names for each kind, or one number for all three; what comes after is counted as (other).')
      .register(keyForms, { form: 'yaml' }),
    maxNamesPerSession: wholeNumber(
      NAMES,
      defaults.DEFAULT_MAX_NAMES_PER_SESSION,
      'Most names in the statistics of one session.',
    ),
  },
  'What is counted, and for how long.',
);

const apiKey = z.strictObject(
  {
    user: z.string({ error: SECRET_TEXT }).min(1, { error: SECRET_TEXT }).describe('The name to show.'),
    key: z
      .string({ error: SECRET_TEXT })
      .min(1, { error: SECRET_TEXT })
      .describe('The key as his programs send it. Never shown.'),
  },
  { error: 'a pair of user and key' },
);

const sessions = section(
  {
    idle: duration(defaults.DEFAULT_SESSION_IDLE, 'A session without a request for this long has ended.'),
    max: wholeNumber({ min: 1, max: 1_000_000 }, defaults.DEFAULT_MAX_SESSIONS, 'Most sessions kept at a time.'),
    apiKeys: z
      .array(apiKey, { error: 'a list of pairs of user and key' })
      .prefault([])
      .describe('Users known by the application key that their programs send as X-API-Key.')
      .register(keyForms, { form: 'yaml' }),
    cookie: z
      .string({ error: COOKIE_FORM })
      .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, { error: COOKIE_FORM })
      .prefault(defaults.DEFAULT_SESSION_COOKIE)
      .describe('Name of the cookie that stands for a login.')
      .register(keyForms, { form: 'text' }),
    formLogin: section(
      {
        path: z
          .string({ error: LOGIN_PATH_FORM })
          .regex(/^[^\s?#\\{}]*[^\s?#\\{}/][^\s?#\\{}]*$/, { error: LOGIN_PATH_FORM })
          .transform(trimSlashes)
          .prefault(defaults.DEFAULT_FORM_LOGIN_PATH)
          .describe(
            'End of the path, below the application, that a login form is posted to. Only there a body is read for it.',
          )
          .register(keyForms, { form: 'text' }),
        userField: z
          .string({ error: 'the name of a field' })
          .min(1, { error: 'the name of a field' })
          .prefault(defaults.DEFAULT_FORM_LOGIN_USER_FIELD)
          .describe('Field of the form with the user’s name; nothing else of the form is kept.')
          .register(keyForms, { form: 'text' }),
      },
      'The form by which users of Comet log in.',
    ),
    cometGone: duration(defaults.DEFAULT_COMET_GONE, 'A Comet session without any connection for this long has ended.'),
  },
  'Who is connected.',
);

const rest = section(
  {
    prefix: z
      .string({ error: 'a path such as api/rest/v0' })
      .regex(/^[^\s?#\\{}]*$/, { error: 'a path such as api/rest/v0' })
      .transform(trimSlashes)
      .prefault(defaults.DEFAULT_REST_PREFIX)
      .describe('Path of the REST interface below the application.')
      .register(keyForms, { form: 'text' }),
    rules: z
      .array(restRuleSchema, { error: 'a list of rules' })
      .prefault([])
      .describe('Rules of your own that make calls out of requests; tried in their order, before the built-in ones.')
      .register(keyForms, { form: 'yaml' }),
    defaultRules: yesOrNo(defaults.DEFAULT_USE_DEFAULT_RULES, 'Whether the built-in rules follow yours.'),
    deny: z
      .array(parsedText(parseDeniedPath, DENIED_PATH_FORM), { error: 'a list of paths such as /manager' })
      .prefault([])
      .describe('Paths, and all below them, that clients get only from loopback; others get 403.')
      .register(keyForms, { form: 'texts' }),
  },
  'How requests of the REST interface are classified, and which paths are denied.',
);

const limits = section(
  {
    headBytes: wholeNumber(
      { min: 1_024, max: 16 * 1_024 * 1_024 },
      defaults.DEFAULT_HEAD_BYTES,
      'Largest head of a request or response, and largest trailer section, in bytes.',
    ),
    fields: wholeNumber({ min: 1, max: 1_000_000 }, defaults.DEFAULT_FIELDS, 'Most fields in the head of a request.'),
    connections: wholeNumber(
      { min: 1, max: 1_000_000 },
      defaults.DEFAULT_CONNECTIONS,
      'Most connections of clients at a time.',
    ),
    connectionsPerAddress: wholeNumber(
      { min: 0, max: 1_000_000 },
      defaults.DEFAULT_CONNECTIONS_PER_ADDRESS,
      'Most connections of one address of clients, or of one /64 of IPv6, at a time; 0 is no limit.',
    ),
    inFlight: wholeNumber(
      { min: 0, max: 1_000_000 },
      defaults.DEFAULT_IN_FLIGHT,
      'Most requests with the application server at a time, held long polls among them; 0 is no limit.',
    ),
    memoryBytes: wholeNumber(
      { min: 1_048_576, max: 4 * 1_024 * 1_024 * 1_024 },
      defaults.DEFAULT_MEMORY_BYTES,
      'Most memory for what is kept because of what clients send: bodies, windows, unfinished heads, requests sent ahead.',
    ),
  },
  'How much is taken.',
);

const timeouts = section(
  {
    head: duration(defaults.DEFAULT_HEAD_TIMEOUT, 'From the first byte of a request’s head to its end.'),
    idle: duration(
      defaults.DEFAULT_IDLE_TIMEOUT,
      'How long a client’s connection may be silent between two exchanges.',
    ),
    halfClosed: duration(
      defaults.DEFAULT_HALF_CLOSED_TIMEOUT,
      'How long a client that has closed its sending side may still wait for its answer.',
    ),
  },
  'How long clients may take.',
);

export const configSchema = z
  .strictObject(
    {
      listen,
      upstream,
      applications,
      dataPath: oneOf(
        ['auto', 'gateway'],
        defaults.DEFAULT_DATA_PATH,
        'auto relays what can be relayed; gateway sends everything through the gateway.',
      ),
      forwarded: oneOf(
        ['append', 'replace', 'off'],
        defaults.DEFAULT_FORWARDED,
        'What happens to X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host.',
      ),
      monitor,
      metrics,
      sessions,
      rest,
      comet,
      jvm,
      otlp,
      limits,
      timeouts,
      stop: section(
        {
          delay: duration(
            defaults.DEFAULT_STOP_DELAY,
            'From readiness off to the first connection that is let go: how long others take to send no more clients here.',
            { zero: 'none' },
          ),
          window: duration(
            defaults.DEFAULT_STOP_WINDOW,
            'Over how long, behind the delay, WebSockets are closed one by one, and held long polls may end by themselves.',
            { zero: 'all at once' },
          ),
          deadline: duration(
            defaults.DEFAULT_STOP_DEADLINE,
            'From SIGTERM to the end, delay and window included: what still runs then is cut.',
            { zero: 'cut them at once' },
          ),
        },
        'How it stops.',
      ),
      state: section(
        {
          file: z
            .string({ error: STATE_FILE_FORM })
            .regex(/[^/]$/, { error: STATE_FILE_FORM })
            .optional()
            .describe('File that keeps counters and sessions over restarts. Absent: every start counts from zero.')
            .register(keyForms, { form: 'text' }),
          interval: duration(
            defaults.DEFAULT_STATE_INTERVAL,
            'How much a crash may lose at most: how old the file may become.',
            {
              minMs: 100,
            },
          ),
        },
        'What outlives a restart.',
      ),
      control: section(
        {
          socket: z
            .string({ error: 'a path' })
            .min(1, { error: 'a path' })
            .optional()
            .describe(
              'Path of the control socket. Absent: one of its own in a private folder of the temporary directory.',
            )
            .register(keyForms, { form: 'text' }),
        },
        'The local socket that drain and shutdown talk to.',
      ),
      log: section(
        {
          level: oneOf(
            ['debug', 'info', 'warn', 'error', 'silent'],
            defaults.DEFAULT_LOG_LEVEL,
            'Least level that is logged.',
          ),
        },
        'Logs are JSON lines on standard output.',
      ),
      accessLog,
    },
    { error: 'a group of keys' },
  )
  .describe('Configuration of d2-sidecar.');

/** The output of the schema: defaults filled in, times in milliseconds. */
export type ParsedConfig = z.output<typeof configSchema>;
