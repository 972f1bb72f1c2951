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
import { atHeads, type FaultStand, OK, RPC, reset, startFaultStand, WEBSOCKET } from './fault-stand.ts';

type Kind = 'call' | 'websocket';

interface Fault {
  readonly name: string;
  readonly script?: Serve;
  readonly config?: (base: Config) => Partial<Config>;
  readonly code: UpstreamFailureCode;
  /** The sidecar answers; undefined: the client gets `begin`, and an end that cannot be mistaken for a complete answer. */
  readonly problem?: readonly [status: number, error: string];
  /** Called once the client has the beginning of its answer: on RST, kernels drop data in flight. */
  readonly leaves?: (upstream: net.Socket) => void;
  /** Resolves the upstream's name; the default is not to answer. */
  readonly lookup?: (answer: Answer) => void;
  readonly isPlainDespiteTls?: boolean;
  readonly only?: { readonly kind?: Kind; readonly isSecure?: boolean };
}

const impatient = ({ upstream }: Config) => ({ upstream: { ...upstream, responseTimeoutMs: 60 } });
const named = ({ upstream }: Config) => ({ upstream: { ...upstream, host: NAME, connectTimeoutMs: 60 } });

const TERMINATED = { code: 'D2S_ERR_UPSTREAM_TERMINATED', problem: [502, 'connection_terminated'] } as const;
const PROTOCOL = { code: 'D2S_ERR_UPSTREAM_PROTOCOL', problem: [502, 'http_protocol_error'] } as const;
const TOO_LARGE = {
  code: 'D2S_ERR_UPSTREAM_HEAD_TOO_LARGE',
  problem: [502, 'http_response_header_section_size'],
} as const;
const NOT_RESOLVED = { config: named, code: 'D2S_ERR_UPSTREAM_DNS', problem: [502, 'dns_error'] } as const;
const NOT_CONNECTED = { code: 'D2S_ERR_UPSTREAM_CONNECT_TIMEOUT', problem: [504, 'connection_timeout'] } as const;
const INCOMPLETE = { code: 'D2S_ERR_UPSTREAM_INCOMPLETE' } as const;
const BEGUN = answering('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin');
const UPGRADED = answering('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');

const atHead = (act: (upstream: net.Socket) => void) => (upstream: net.Socket) =>
  atHeads(upstream, () => act(upstream));
const ends = (upstream: net.Socket) => void upstream.end();

const faults: readonly Fault[] = [
  { name: 'is down', code: 'D2S_ERR_UPSTREAM_REFUSED', problem: [502, 'connection_refused'] },
  { name: 'closes each connection at once', script: (upstream) => upstream.end(), ...TERMINATED },
  { name: 'resets each connection at once', script: reset, ...TERMINATED },
  { name: 'half-closes instead of answering', script: atHead((upstream) => upstream.end()), ...TERMINATED },
  { name: 'resets instead of answering', script: atHead(reset), ...TERMINATED },
  {
    name: 'closes within the head of its answer',
    script: atHead((upstream) => upstream.end('HTTP/1.1 200 OK\r\nContent-Le')),
    ...TERMINATED,
  },
  {
    name: 'is silent for longer than upstream.responseTimeout',
    script: (upstream) => upstream.resume(),
    config: impatient,
    code: 'D2S_ERR_UPSTREAM_TIMEOUT',
    problem: [504, 'http_response_timeout'],
  },
  { name: 'answers rubbish', script: answering('SSH-2.0-OpenSSH_9.6\r\n\r\n'), ...PROTOCOL },
  { name: 'greets in another protocol', script: answering('SSH-2.0-OpenSSH_9.2\r\n'), ...PROTOCOL },
  { name: 'answers with a TLS alert', script: answering('\x15\x03\x01\x00\x02\x02\x46'), ...PROTOCOL },
  { name: 'ends its lines with LF alone', script: answering('HTTP/1.1 200 OK\nContent-Length: 0\n\n'), ...PROTOCOL },
  {
    name: 'answers with two lengths that differ',
    script: answering('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'),
    ...PROTOCOL,
  },
  { name: 'answers with a status below 100', script: answering('HTTP/1.1 099 X\r\n\r\n'), ...PROTOCOL },
  { name: 'switches to nothing', script: answering('HTTP/1.1 101 X\r\n\r\n'), ...PROTOCOL },
  {
    name: 'sends something other than HTTP before the request',
    script: (upstream) => void upstream.resume().write('220 plant ready\r\n'),
    ...PROTOCOL,
  },
  { name: 'upgrades without a request to upgrade', script: UPGRADED, only: { kind: 'call' }, ...PROTOCOL },
  {
    name: 'upgrades to another protocol',
    script: UPGRADED,
    only: { kind: 'websocket' },
    code: 'D2S_ERR_UPSTREAM_UPGRADE',
    problem: [502, 'http_upgrade_failed'],
  },
  {
    name: 'answers with too large a head',
    script: answering(`HTTP/1.1 200 OK\r\nX-Large: ${'x'.repeat(70_000)}\r\n\r\n`),
    ...TOO_LARGE,
  },
  {
    name: 'answers with a head without end',
    script: answering(`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(70_000)}`),
    ...TOO_LARGE,
  },
  { name: 'resets within a body with a length', script: BEGUN, leaves: reset, ...INCOMPLETE },
  { name: 'closes within a body with a length', script: BEGUN, leaves: ends, ...INCOMPLETE },
  {
    name: 'closes within chunks',
    script: answering('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n'),
    leaves: ends,
    ...INCOMPLETE,
  },
  {
    name: 'resets within a body that ends with the connection',
    script: answering('HTTP/1.1 200 OK\r\n\r\nbegin'),
    leaves: reset,
    ...INCOMPLETE,
  },
  {
    name: 'has an address without a route',
    script: answering(OK),
    config: named,
    // The same event as a connection timeout of the kernel, which a test cannot cause everywhere.
    lookup: failing('EHOSTUNREACH'),
    code: 'D2S_ERR_UPSTREAM_UNREACHABLE',
    problem: [502, 'destination_ip_unroutable'],
  },
  { name: 'has a name that no longer resolves', script: answering(OK), lookup: failing('ENOTFOUND'), ...NOT_RESOLVED },
  {
    name: 'has a name that fails to resolve for the moment',
    script: answering(OK),
    lookup: failing('EAI_AGAIN'),
    ...NOT_RESOLVED,
  },
  {
    name: 'has a name for which the resolver does not answer',
    script: answering(OK),
    config: named,
    ...NOT_CONNECTED,
  },
  {
    name: 'does not answer in the TLS handshake',
    script: (upstream) => upstream.resume(),
    config: ({ upstream }) => ({ upstream: { ...upstream, connectTimeoutMs: 60 } }),
    only: { isSecure: true },
    isPlainDespiteTls: true,
    ...NOT_CONNECTED,
  },
  {
    name: 'does not speak TLS',
    script: (upstream) => void upstream.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    only: { isSecure: true },
    isPlainDespiteTls: true,
    code: 'D2S_ERR_UPSTREAM_TLS',
    problem: [502, 'tls_protocol_error'],
  },
];

const WITH_ITS_BODY = /^HTTP\/1\.1 (\d+) [^\r]*\r\n([\s\S]*?)\r\n\r\n([\s\S]*)$/;

async function expectProblem(client: Peer, code: string, [wanted, error]: readonly [number, string]): Promise<void> {
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
        const harness = await startFaultStand({
          ...{ script: fault.script, config: fault.config, isPlainDespiteTls: fault.isPlainDespiteTls },
          secure: isSecure ? { authority, own } : undefined,
        });
        const client = harness.client(kind === 'call' ? RPC : WEBSOCKET);
        if (fault.problem !== undefined) await expectProblem(client, fault.code, fault.problem);
        else await expectCut(client, () => fault.leaves?.(harness.upstreams[0] as net.Socket));
        await expectAccounted(harness, fault, kind);
      });
    });
  }
}

type Dropwizard = Record<'timers' | 'meters', Record<string, { readonly count: number }>>;

async function expectAccounted(on: FaultStand, fault: Fault, kind: Kind): Promise<void> {
  const calls = kind === 'call' ? 1 : 0;
  const samples = await on.samples();
  expect(samples.get(`d2_sidecar_exchanges_total{ending="failed"}`)).toBe(1);
  const failures = [...samples].filter(([name, value]) => name.startsWith('d2_sidecar_upstream_failures') && value > 0);
  expect(failures).toEqual([[`d2_sidecar_upstream_failures_total{code="${fault.code}"}`, 1]]);
  expect(samples.get('d2_calls_unanswered_total{kind="rpc"}')).toBe(calls);
  expect(samples.get('d2_sidecar_exchanges_open')).toBe(0);
  const { timers, meters } = await on.read<Dropwizard>('metrics/d2/rpc');
  expect([timers.rpc?.count, meters['rpc.errors']?.count]).toEqual([0, calls]);
  // One line, whichever room logs it; for TLS the dialler does, with the reason.
  const lines = on.logged.filter(({ details }) => details.code === fault.code);
  expect(lines).toMatchObject([{ level: 'warn', details: { failed: 1 } }]);
}
