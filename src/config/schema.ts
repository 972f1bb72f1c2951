/**
 * Defines the keys of the configuration. A key is defined once, here or in the file of its section: what is accepted,
 * its default, its description, and whether a reload applies it. The program's `Config`, the environment variables,
 * the messages and, by `npm run generate`, config/schema.json, config/sidecar.yaml and the table of
 * docs/configuration.md come from it. docs/limits.md is written by hand; a test checks its defaults.
 */
import { resolve } from 'node:path';
import { z } from 'zod';
import { AddressRanges } from '../base/address.ts';
import { alerts, findAlertConflicts } from './alerts-schema.ts';
import { encodeDuration } from './duration.ts';
import { formatHostPort, isSamePlace, isServedBy } from './host-port.ts';
import { diagnosis, findDiagnosisConflicts, findJvmConflicts, jvm } from './jvm-schema.ts';
import { calls, comet, metrics, rest, sessions } from './measuring-schema.ts';
import { findMonitorConflicts, findRepeated, monitor } from './monitor-schema.ts';
import { findOtlpConflicts, otlp } from './otlp-schema.ts';
import * as key from './schema-keys.ts';
import { findListenerTlsConflicts, findUpstreamTlsConflicts, listenerTls, upstreamTls } from './tls-schema.ts';
import { CONTEXT_PATH_FORM, parseContextPath, parseUpstreamUrl, UPSTREAM_URL_FORM } from './upstream-url.ts';
import { type Group, valueAt } from './written.ts';

const RANGE_FORM = 'an address or CIDR such as 127.0.0.1, 10.0.0.0/8 or fd00::/8';
const COUNTS = { min: 1, max: 1_000_000 };
const COUNTS_OR_NONE = { min: 0, max: 1_000_000 };

const FORWARDED = ['append', 'replace', 'off'] as const;
const FORWARDED_FORM = `${key.describeChoice(FORWARDED)}, or a group with addresses and clientCertificate`;

const forwarded = z
  .union(
    [
      z.enum(FORWARDED),
      z.strictObject({
        addresses: key.oneOf(
          FORWARDED,
          'append',
          'What happens to `X-Forwarded-For`, `-Proto` and `-Host`: `append`, `replace` or `off`. `replace` also removes `Forwarded`; use it if clients reach the sidecar directly.',
        ),
        clientCertificate: key
          .oneOf(
            ['off', 'tomcat', 'rfc9440'],
            'off',
            'Fields with the verified certificate of a client: `off`, `tomcat` (as SSLValve) or `rfc9440` (`Client-Cert`): see [tls.md](tls.md#the-certificate-for-the-application-server).',
          )
          .meta({ reload: 'restart' }),
      }),
    ],
    { error: FORWARDED_FORM },
  )
  .transform((written) =>
    typeof written === 'string' ? { addresses: written, clientCertificate: 'off' as const } : written,
  )
  .prefault({})
  .meta({
    description: 'What the server is told about clients. A single value sets `addresses`.',
    reload: 'live',
  });

export const configSchema = key
  .group('a group of keys', {
    listen: key.section('restart', 'Where clients connect.', {
      host: key.host('0.0.0.0', 'Address to listen on for clients.'),
      port: key.port(8081, 'Port to listen on for clients; 0 picks a free one.'),
      trustedProxies: key.list(key.checkedText(RANGE_FORM, AddressRanges.isRange), {
        form: `a list, each ${RANGE_FORM}`,
        description:
          'Addresses and CIDRs of proxies in front of the sidecar: see [front-proxies.md](front-proxies.md).',
        examples: [['127.0.0.1', '10.0.0.0/8', 'fd00::/8']],
        reload: 'live',
      }),
      clientAddress: key
        .oneOf(
          ['x-forwarded-for', 'forwarded', 'proxy-protocol'],
          'x-forwarded-for',
          'How they pass on the client address: `x-forwarded-for`, `forwarded` (RFC 7239) or `proxy-protocol`.',
        )
        .meta({ reload: 'live' }),
      tls: listenerTls('listen'),
    }),
    upstream: key.section('live', 'The application server.', {
      url: key
        .optional(
          key.parsedText(parseUpstreamUrl, UPSTREAM_URL_FORM),
          'http://127.0.0.1:8080/smartWeb',
          '`http://host[:port][/application]` or `https://...`. Required. The path names the application whose calls are counted.',
        )
        .meta({ reload: 'restart' }),
      connectTimeout: key.duration(
        '5s',
        'Longest wait for a connection to the application server; then 504. Each address of its name gets an equal part.',
      ),
      probe: key.duration(
        '5s',
        'How often a connection is tried while no answer shows that the server is there. 0: never.',
        { zero: 'never' },
      ),
      // No limit: a long poll is silent for as long as the server holds it.
      responseTimeout: key.duration(
        0,
        'From the end of a request to the first byte of its response. 0: no limit, for long polls.',
        { zero: 'no limit' },
      ),
      tls: upstreamTls,
    }),
    applications: key.list(key.parsedText(parseContextPath, CONTEXT_PATH_FORM), {
      form: 'a list of context paths',
      description: 'Context paths of further applications; `/` is the root context, the default if none is named.',
      examples: [['smartWeb', 'smartWebTest']],
      reload: 'restart',
    }),
    forwarded,
    monitor,
    metrics,
    calls,
    sessions,
    rest,
    comet,
    jvm,
    diagnosis,
    otlp,
    alerts,
    limits: key.section('live', 'What happens at each limit: [limits.md](limits.md).', {
      // Single sign-on cookies exceed Node's own 16 KiB.
      headBytes: key.wholeNumber(
        { min: 1_024, max: 16 * 1_024 * 1_024 },
        65_536,
        'Largest head or trailer section of a request or response, in bytes.',
      ),
      // The limit of newer nginx; application servers allow far fewer (Tomcat 100).
      fields: key.wholeNumber(COUNTS, 1_000, 'Maximum number of fields in the head of a request.'),
      connections: key.wholeNumber(COUNTS, 10_000, 'Maximum number of open client connections.'),
      connectionsPerAddress: key.wholeNumber(
        COUNTS_OR_NONE,
        0,
        'Maximum number of open connections of one address (IPv6: /64). 0: no limit.',
      ),
      // Off: a held long poll is a request in flight, and only the operator knows how many there are.
      inFlight: key.wholeNumber(
        COUNTS_OR_NONE,
        0,
        'Maximum number of requests in flight, held long polls included. 0: no limit.',
      ),
      // Within the 512 MiB of our manifests this leaves room for 10,000 connections.
      memoryBytes: key.wholeNumber(
        { min: 1_048_576, max: 4 * 1_024 * 1_024 * 1_024 },
        67_108_864,
        'Maximum bytes kept for clients: see [limits.md](limits.md#memory).',
      ),
    }),
    timeouts: key.section('live', 'How long clients may take.', {
      head: key.duration('60s', 'Longest time for the head of a request, and for a TLS handshake.'),
      idle: key.duration('5m', 'How long a client may neither send nor read while the sidecar waits for it.'),
      halfClosed: key.duration('5m', 'How long a half-closed client may wait for its answer.'),
    }),
    stop: key.section('live', 'How the sidecar stops: see [reliability.md](reliability.md#draining-and-stopping).', {
      // Load balancers usually notice an unready Pod within this time. For slower ones, a preStop hook drains longer.
      delay: key.duration('2s', 'Time from turning unready to the first closed connection.', {
        zero: 'none',
      }),
      // Together with the delay, less than the 10 s that `docker stop` waits.
      window: key.duration('5s', 'Time over which WebSockets are closed one by one, after the delay. 0: all at once.', {
        zero: 'all at once',
      }),
      // Less than the 30 s that Kubernetes grants after SIGTERM.
      deadline: key.duration(
        '25s',
        'Time from SIGTERM until running calls are cut. 0: at once. At least `stop.delay` plus `stop.window`, and below `terminationGracePeriodSeconds`.',
        { zero: 'cut them at once' },
      ),
    }),
    state: key.section('restart', 'What outlives a restart: see [state.md](state.md).', {
      file: key.optionalText(
        'the path of a file such as /var/lib/d2-sidecar/state',
        /[^/]$/,
        '/var/lib/d2-sidecar/state',
        'File that keeps counters and sessions, one for each sidecar.',
      ),
      interval: key.duration('10s', 'Time between two saves; a crash loses at most this much.', { minMs: 100 }),
    }),
    history: key.section('restart', 'What each call did, for weeks: see [history.md](history.md).', {
      file: key.optionalText(
        'the path of a file such as /var/lib/d2-sidecar/history.db',
        /[^/]$/,
        '/var/lib/d2-sidecar/history.db',
        'SQLite file, one for each sidecar. Absent: an hour in memory.',
      ),
      keep: key.duration('90d', 'How long it is kept.', { minMs: 86_400_000, maxMs: 730 * 86_400_000 }),
      maxBytes: key.wholeNumber(
        { min: 33_554_432, max: 1_099_511_627_776 },
        1_073_741_824,
        'Largest size of the file in bytes; beyond it the oldest goes.',
      ),
    }),
    control: key.section('restart', 'The local socket for `d2-sidecar drain`, `reload` and `shutdown`.', {
      socket: key.optionalText(
        'a path',
        key.NOT_EMPTY,
        '/run/d2-sidecar/control.sock',
        'Path of the socket: see [Control socket](configuration.md#control-socket). Absent: in a private temporary folder.',
      ),
    }),
    log: key.section('live', 'Logs are JSON lines on standard output.', {
      level: key.oneOf(
        ['debug', 'info', 'warn', 'error', 'silent'],
        'info',
        'Minimum level: `debug`, `info`, `warn`, `error` or `silent`.',
      ),
    }),
    accessLog: key.section(
      'live',
      'A line of JSON for each call, in a file of its own: see [access-log.md](access-log.md).',
      {
        file: key.optionalText(
          'the path of a file, a FIFO or a device such as /var/log/d2-sidecar/access.log; not standard output, which has the program’s own log',
          /^(?!-$|\/dev\/stdout$).*[^/]$/,
          '/var/log/d2-sidecar/access.log',
          'File, FIFO or device for the lines, but not standard output. Absent: no access log.',
        ),
        sample: key.share(1, 'Random share (0 to 1) of the calls that get a line.'),
        slowerThan: key.duration(0, 'Only calls that took longer get a line. 0: all of them.', { zero: 'all of them' }),
        errorsAlways: key.yesOrNo(true, 'Whether failed calls always get a line.'),
        others: key.yesOrNo(false, 'Whether other requests get a line, without their path.'),
        users: key.yesOrNo(true, 'Whether lines contain users and addresses.'),
        // Half a gigabyte, the kept files included: an unattended log must not fill a disk.
        maxBytes: key.wholeNumber(
          { min: 0, max: 1_099_511_627_776 },
          104_857_600,
          'Size in bytes at which the file is renamed to `file.1`. 0: never (logrotate).',
        ),
        keep: key.wholeNumber({ min: 0, max: 1_000 }, 4, 'Number of renamed files to keep.'),
      },
    ),
  })
  .describe('Configuration of d2-sidecar.');

/** The output of the schema: defaults filled in, times in milliseconds. */
export type ParsedConfig = z.output<typeof configSchema>;

export function findConflicts(parsed: ParsedConfig): readonly key.Conflict[] {
  return [
    ...findListenConflicts(parsed),
    ...findMonitorConflicts(parsed.monitor),
    ...findListenerTlsConflicts('listen.tls', parsed.listen.tls),
    ...findListenerTlsConflicts('monitor.tls', parsed.monitor.tls),
    ...findUpstreamTlsConflicts(parsed.upstream.tls, parsed.upstream.url?.isSecure),
    ...findJvmConflicts(parsed.jvm),
    ...findDiagnosisConflicts(parsed.diagnosis),
    ...findOtlpConflicts(parsed.otlp),
    ...findAlertConflicts(parsed.alerts),
    ...findFileConflicts(parsed),
    // A key that two users share would not show which of them sent it.
    ...findRepeated(
      'sessions.apiKeys',
      'key',
      parsed.sessions.apiKeys.map(({ key }) => key),
    ),
  ];
}

function* findListenConflicts({ upstream, listen, monitor, forwarded }: ParsedConfig): Generator<key.Conflict> {
  const { url } = upstream;
  const keys = ['listen.host', 'listen.port', 'monitor.host', 'monitor.port'];
  if (url === undefined) {
    const line =
      'upstream.url: missing, expected http://host[:port][/application] as --upstream, in D2_SIDECAR_UPSTREAM_URL or in the file';
    yield { keys: ['upstream.url'], line };
  } else if (isServedBy(url, listen) || isServedBy(url, monitor)) {
    const line = `upstream.url: ${formatHostPort(url)} is the sidecar itself, expected the application server`;
    yield { keys: ['upstream.url', ...keys], line };
  }
  if (isSamePlace(listen, monitor)) {
    const line = `monitor.port: got ${monitor.port}, expected a port different from listen.port (${formatHostPort(listen)})`;
    yield { keys, line };
  }
  if (forwarded.clientCertificate !== 'off' && listen.tls.clientAuth === 'none') {
    const expected = 'expected listen.tls.clientAuth: request or require, since clients send no certificate without it';
    const line = `forwarded.clientCertificate: got ${JSON.stringify(forwarded.clientCertificate)}, ${expected}`;
    yield { keys: ['forwarded.clientCertificate', 'listen.tls'], line };
  }
}

/** Two parts that write to one file would destroy each other's data. */
function* findFileConflicts({ state, history, accessLog, control }: ParsedConfig): Generator<key.Conflict> {
  const files = { 'state.file': state.file, 'history.file': history.file, 'accessLog.file': accessLog.file };
  const owners = new Map<string, string>();
  for (const [name, file] of Object.entries({ ...files, 'control.socket': control.socket })) {
    if (file === undefined) continue;
    const owner = owners.get(resolve(file));
    owners.set(resolve(file), owner ?? name);
    const line = `${name}: got ${JSON.stringify(file)}, as in ${owner}, expected another path`;
    if (owner !== undefined) yield { keys: [owner, name], line };
  }
}

/** Checks only the `written` keys: a short deadline does not contradict the defaults of the others. */
export function findStopConflicts({ stop }: ParsedConfig, written: Group): readonly key.Conflict[] {
  const parts = (['delay', 'window'] as const).filter((name) => valueAt(written, ['stop', name]) !== undefined);
  const togetherMs = parts.reduce((sum, name) => sum + stop[`${name}Ms`], 0);
  if (togetherMs <= stop.deadlineMs) return [];
  const keys = parts.map((name) => `stop.${name}`);
  const times = parts.map((name) => encodeDuration(stop[`${name}Ms`])).join(' + ');
  const line =
    `stop.deadline: got ${encodeDuration(stop.deadlineMs)}, shorter than ${keys.join(' and ')} (${times}), ` +
    `expected at least ${encodeDuration(togetherMs)}, or less for ${keys.join(' or ')}`;
  return [{ keys: ['stop.deadline', ...keys], line }];
}
