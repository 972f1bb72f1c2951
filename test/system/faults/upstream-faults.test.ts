/** The upstream's faults in docs/errors.md and docs/reliability.md: what the client sees, what is counted, what is logged. */
import type net from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import type { UpstreamFailureCode } from '../../../src/proxy/exchange/upstream-failure.ts';
import { useCertificates } from '../../support/tls/ends.ts';
import type { Peer } from '../../support/wire/peer.ts';
import type { Serve } from '../../support/wire/raw-upstream.ts';
import { answering } from '../../support/wire/stand.ts';
import { type Answer, FakeResolver, failing, NAME } from './fake-resolver.ts';
import { atHeads, type FaultStand, RPC, reset, sound, startFaultStand, WEBSOCKET } from './fault-stand.ts';

type Kind = 'call' | 'websocket';

interface Fault {
  readonly name: string;
  readonly script: Serve | undefined;
  readonly config?: (base: Config) => Partial<Config>;
  /** The sidecar's answer; without: the client gets `begin`, and an end that cannot be mistaken for a complete answer. */
  readonly outcome: readonly [code: UpstreamFailureCode, status?: number, error?: string];
  /** Called once the client has the beginning of its answer: on RST, kernels drop data in flight. */
  readonly leaves?: (upstream: net.Socket) => void;
  /** Resolves the upstream's name; the default is not to answer. */
  readonly lookup?: (answer: Answer) => void;
  readonly isPlainDespiteTls?: boolean;
  readonly only?: { readonly kind?: Kind; readonly isSecure?: boolean };
}

const impatient = ({ upstream }: Config) => ({ upstream: { ...upstream, responseTimeoutMs: 60 } });
const hasty = ({ upstream }: Config) => ({ upstream: { ...upstream, connectTimeoutMs: 60 } });
const named = ({ upstream }: Config) => ({ upstream: { ...upstream, host: NAME, connectTimeoutMs: 60 } });

const UPGRADED = answering('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
const BEGUN = answering('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin');

const atHead = (act: (upstream: net.Socket) => void) => (upstream: net.Socket) =>
  atHeads(upstream, () => act(upstream));
const ends = (upstream: net.Socket) => void upstream.end();
const silent = (upstream: net.Socket) => void upstream.resume();

/** Faults with one outcome, by their names. */
function faultsOf(
  outcome: Fault['outcome'],
  scripts: Readonly<Record<string, Serve | undefined>>,
  more: Partial<Fault> = {},
): Fault[] {
  return Object.entries(scripts).map(([name, script]) => ({ name, script, outcome, ...more }));
}

const PROTOCOL = ['D2S_ERR_UPSTREAM_PROTOCOL', 502, 'http_protocol_error'] as const;
const NOT_CONNECTED = ['D2S_ERR_UPSTREAM_CONNECT_TIMEOUT', 504, 'connection_timeout'] as const;
const PLAIN = { only: { isSecure: true }, isPlainDespiteTls: true } as const;

const faults: readonly Fault[] = [
  ...faultsOf(['D2S_ERR_UPSTREAM_REFUSED', 502, 'connection_refused'], { 'is down': undefined }),
  ...faultsOf(['D2S_ERR_UPSTREAM_TERMINATED', 502, 'connection_terminated'], {
    'closes each connection at once': ends,
    'half-closes instead of answering': atHead(ends),
    'resets instead of answering': atHead(reset),
    'closes within the head of its answer': atHead((upstream) => upstream.end('HTTP/1.1 200 OK\r\nContent-Le')),
  }),
  ...faultsOf(
    ['D2S_ERR_UPSTREAM_TIMEOUT', 504, 'http_response_timeout'],
    { 'is silent for longer than upstream.responseTimeout': silent },
    { config: impatient },
  ),
  ...faultsOf(PROTOCOL, {
    'answers rubbish': answering('SSH-2.0-OpenSSH_9.6\r\n\r\n'),
    'answers with a TLS alert': answering('\x15\x03\x01\x00\x02\x02\x46'),
    'answers with two lengths that differ': answering(
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    ),
    'switches to nothing': answering('HTTP/1.1 101 X\r\n\r\n'),
    'sends something other than HTTP before the request': (upstream) =>
      void upstream.resume().write('220 plant ready\r\n'),
  }),
  ...faultsOf(PROTOCOL, { 'upgrades without a request to upgrade': UPGRADED }, { only: { kind: 'call' } }),
  ...faultsOf(
    ['D2S_ERR_UPSTREAM_UPGRADE', 502, 'http_upgrade_failed'],
    { 'upgrades to another protocol': UPGRADED },
    { only: { kind: 'websocket' } },
  ),
  ...faultsOf(['D2S_ERR_UPSTREAM_HEAD_TOO_LARGE', 502, 'http_response_header_section_size'], {
    'answers with a head without end': answering(`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(70_000)}`),
  }),
  ...Object.entries({
    'closes within a body with a length': [BEGUN, ends],
    'closes within chunks': [answering('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n'), ends],
    'resets within a body that ends with the connection': [answering('HTTP/1.1 200 OK\r\n\r\nbegin'), reset],
  } as const).flatMap(([name, [script, leaves]]) =>
    faultsOf(['D2S_ERR_UPSTREAM_INCOMPLETE'], { [name]: script }, { leaves }),
  ),
  // The same event as a connection timeout of the kernel, which a test cannot cause everywhere.
  ...faultsOf(
    ['D2S_ERR_UPSTREAM_UNREACHABLE', 502, 'destination_ip_unroutable'],
    { 'has an address without a route': sound },
    { config: named, lookup: failing('EHOSTUNREACH') },
  ),
  ...faultsOf(
    ['D2S_ERR_UPSTREAM_DNS', 502, 'dns_error'],
    { 'has a name that does not resolve for the moment': sound },
    { config: named, lookup: failing('EAI_AGAIN') },
  ),
  ...faultsOf(NOT_CONNECTED, { 'has a name for which the resolver does not answer': sound }, { config: named }),
  ...faultsOf(NOT_CONNECTED, { 'does not answer in the TLS handshake': silent }, { config: hasty, ...PLAIN }),
  ...faultsOf(
    ['D2S_ERR_UPSTREAM_TLS', 502, 'tls_protocol_error'],
    { 'does not speak TLS': (upstream) => void upstream.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n') },
    PLAIN,
  ),
];

const WITH_ITS_BODY = /^HTTP\/1\.1 (\d+) [^\r]*\r\n([\s\S]*?)\r\n\r\n([\s\S]*)$/;

async function expectProblem(client: Peer, [code, wanted, error]: Fault['outcome']): Promise<void> {
  await client.until('"code"');
  const [, status, fields = '', body = ''] = WITH_ITS_BODY.exec(client.received) ?? [];
  expect(Number(status)).toBe(wanted);
  expect(fields).toContain('Content-Type: application/problem+json');
  expect(fields).toContain(`Proxy-Status: d2-sidecar; error=${error}`);
  expect(JSON.parse(body)).toMatchObject({ status: wanted, error, code });
  // Contains neither the upstream's address nor the request.
  expect(client.received).not.toMatch(/plant\.example|127\.0\.0\.1|E\.Demo/);
}

async function expectCut(client: Peer, leave: () => void): Promise<void> {
  await client.until('begin');
  leave();
  await client.ended();
  // Without length or chunks, only a reset shows that the answer is incomplete.
  if (!/content-length|chunked/i.test(client.received)) expect(client.wasReset).toBe(true);
  expect(client.received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  const beginning = /chunked/i.test(client.received) ? 'begin\r\n' : 'begin';
  expect(client.received.endsWith(beginning)).toBe(true);
}

const folder = useCertificates();
const authority = folder.authority();
const own = folder.signed(authority, { name: 'plant', alternatives: 'DNS:plant.example,IP:127.0.0.1' });

for (const isSecure of [false, true]) {
  for (const kind of ['call', 'websocket'] as const) {
    const fitting = faults.filter(
      ({ only }) => (only?.kind ?? kind) === kind && (only?.isSecure ?? isSecure) === isSecure,
    );
    describe(`${isSecure ? 'TLS to the upstream' : 'plain'}, ${kind}: an upstream that`, () => {
      it.each(fitting)('$name', async (fault) => {
        if (fault.config === named) Object.assign(new FakeResolver(), fault.lookup && { answer: fault.lookup });
        const secure = isSecure ? { authority, own: fault.isPlainDespiteTls ? undefined : own } : undefined;
        const harness = await startFaultStand({ script: fault.script, config: fault.config, secure });
        const client = harness.client(kind === 'call' ? RPC : WEBSOCKET);
        if (fault.outcome.length > 1) await expectProblem(client, fault.outcome);
        else await expectCut(client, () => fault.leaves?.(harness.upstreams[0] as net.Socket));
        await expectAccounted(harness, fault.outcome, kind);
      });
    });
  }
}

type Dropwizard = Record<'timers' | 'meters', Record<string, { readonly count: number }>>;

async function expectAccounted(on: FaultStand, [code]: Fault['outcome'], kind: Kind): Promise<void> {
  const calls = kind === 'call' ? 1 : 0;
  const samples = await on.samples();
  expect(samples.get(`d2_sidecar_exchanges_total{ending="failed"}`)).toBe(1);
  const failures = [...samples].filter(([name, value]) => name.startsWith('d2_sidecar_upstream_failures') && value > 0);
  expect(failures).toEqual([[`d2_sidecar_upstream_failures_total{code="${code}"}`, 1]]);
  expect(samples.get('d2_calls_unanswered_total{kind="rpc"}')).toBe(calls);
  expect(samples.get('d2_sidecar_exchanges_open')).toBe(0);
  const { timers, meters } = await on.read<Dropwizard>('metrics/d2/rpc');
  expect([timers.rpc?.count, meters['rpc.errors']?.count]).toEqual([0, calls]);
  // One line, whichever room logs it; for TLS the dialler does, with the reason.
  const lines = on.logged.filter(({ details }) => details.code === code);
  expect(lines).toMatchObject([{ level: 'warn', details: { failed: 1 } }]);
}
