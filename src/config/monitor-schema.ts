/** The keys below `monitor`: the read-only monitoring port, and who may read there. */
import { z } from 'zod';
import { isHost, isLoopback } from './host-port.ts';
import * as key from './schema-keys.ts';
import { listenerTls } from './tls-schema.ts';

const AUTH_FORM = 'none, or a group of usersFile, tokensFile and certificates';
const CONNECTIONS = 1_000_000;

function accessFile(example: string, description: string) {
  // Refuses a line of such a file given instead of its path: messages would show it.
  return key.optionalText('the path of a file', /^(?!.*(?:scrypt|sha256)\$)[\s\S]+$/, example, description);
}

const certificate = key.group('a pair of name and role', {
  // RFC 5280 appendix A.1: ub-common-name. No invisible characters, and none that change the direction of text.
  name: key
    .text('the common name of a certificate, 1 to 64 characters', /^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u)
    .describe('Common name of the subject of the certificate.'),
  role: z.enum(['metrics', 'sessions'], { error: 'metrics or sessions' }).describe('What it may read.'),
});

const accessFiles = key.group('a group of keys', {
  usersFile: accessFile(
    '/etc/d2-sidecar/users',
    'File of users and the hashes of their passwords; `d2-sidecar passwd NAME` writes it.',
  ),
  tokensFile: accessFile(
    '/etc/d2-sidecar/tokens',
    'File of the hashes of tokens; `d2-sidecar passwd --token NAME` writes it.',
  ),
  certificates: key.optional(
    z.array(certificate, { error: 'a list of pairs of name and role' }),
    [{ name: 'prometheus', role: 'metrics' }],
    'Clients with certificates: a list of `name` (common name of the subject) and `role`. Needs `monitor.tls.clientAuth`.',
  ),
});

export const monitor = key
  .section('live', 'The read-only monitoring server.', {
    // Not `localhost`, which may mean `::1` first.
    host: key.host('127.0.0.1', 'Address of the monitoring port. Another than loopback requires `monitor.auth`.').meta({
      reload: 'restart',
    }),
    port: key.port(9280, 'The monitoring port; 0 picks a free one.').meta({ reload: 'restart' }),
    tls: listenerTls('monitor'),
    auth: key
      .optional(
        z.union([z.enum(['none'], { error: AUTH_FORM }), accessFiles], { error: AUTH_FORM }),
        'none',
        'Who may read: `none` (everybody), or a group.',
      )
      .meta({ hide: 'all' }),
    hosts: key.list(
      key.checkedText('a host name without a port, such as d2-sidecar.plant.example', isHost).toLowerCase(),
      {
        form: 'a list of host names',
        description: 'Host names allowed in requests, besides addresses, `localhost` and `monitor.host`.',
        examples: [['d2-sidecar.plant.example']],
      },
    ),
    readyWithUpstream: key.yesOrNo(false, 'Whether `/readyz` is 503 while the application server is unreachable.'),
    maxConnections: key.wholeNumber({ min: 1, max: CONNECTIONS }, 1_000, 'Maximum number of open connections.'),
    // A browser opens six connections, Prometheus one or two. The default leaves room for a proxy with one address.
    maxConnectionsPerAddress: key.wholeNumber(
      { min: 0, max: CONNECTIONS },
      100,
      'The same for one address (IPv6: /64). 0: no limit. Behind a proxy: [limits.md](limits.md#behind-a-proxy).',
    ),
    // A request is one small head; a slower client only occupies a connection.
    headTimeout: key.duration('10s', 'Longest time for a request to arrive; then 408.'),
    // Longer than the time between two scrapes, which is rarely more than a minute.
    idleTimeout: key.duration('75s', 'How long a connection may be silent.'),
    maxAnswerBytes: key.wholeNumber(
      { min: 1_024, max: 1_073_741_824 },
      67_108_864,
      'Largest answer in bytes. A larger one gets 507, or is cut off.',
    ),
  })
  .meta({ hide: 'value' });

export function* findMonitorConflicts({ host, auth, tls }: z.output<typeof monitor>): Generator<key.Conflict> {
  const { conflict } = key.conflictsBelow('monitor');
  if (!isLoopback(host) && auth === undefined) {
    const line =
      `host: ${host} can be reached from other machines, and monitor.auth does not say who may read: ` +
      'expected monitor.auth.usersFile or monitor.auth.tokensFile, monitor.auth: none (or D2_SIDECAR_MONITOR_AUTH=none) to allow ' +
      'everybody, or monitor.host: 127.0.0.1';
    yield conflict(line, 'host', 'auth');
  }
  if (typeof auth !== 'object') return;
  const { usersFile, tokensFile, certificates = [] } = auth;
  if ((usersFile ?? tokensFile) === undefined && certificates.length === 0) {
    const line =
      'auth: names no file, expected monitor.auth.usersFile or monitor.auth.tokensFile, or monitor.auth.certificates';
    yield conflict(line, 'auth');
  }
  // Without a request for certificates, no client can be identified by one.
  if (certificates.length > 0 && tls.clientAuth === 'none') {
    const line =
      'auth.certificates: clients are not asked for certificates, expected monitor.tls.clientAuth: request or require';
    yield conflict(line, 'auth.certificates', 'tls');
  }
  const names = certificates.map(({ name }) => name);
  yield* findRepeated('monitor.auth.certificates', 'name', names);
}

/** Conflicts of items that repeat the value of an earlier item. */
export function findRepeated(list: string, part: string, values: readonly string[]): readonly key.Conflict[] {
  return values.flatMap((value, index) => {
    const first = values.indexOf(value);
    const key = `${list}[${index}].${part}`;
    const line = `${key}: the same ${part} as ${list}[${first}], expected a different one`;
    return first === index ? [] : [{ keys: [list], line }];
  });
}
