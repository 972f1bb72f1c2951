/** `listen.trustedProxies`: whose word on its client is taken, by each form in which a proxy gives it. */
import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { ManualClock } from '../../support/clock.ts';
import { get, type LimitStand, MODES, type Mode, type RawPeer, startLimitStand } from './limit-stand.ts';

type Listen = Config['listen'];

let running: Config;

/** The peers of these tests are 127.0.0.1, a proxy, and 127.0.0.2, a client. */
async function start(
  mode: Mode,
  clientAddress: Listen['clientAddress'],
  more: (base: Config) => Partial<Config> = () => ({}),
): Promise<LimitStand> {
  return await startLimitStand(mode, (base) => {
    const listen = { ...base.listen, trustedProxies: ['127.0.0.1', '10.0.0.0/8'], clientAddress };
    running = { ...base, listen, ...more(base) };
    return running;
  });
}

const V1 = Buffer.from('PROXY TCP4 203.0.113.7 10.0.0.1 50412 443\r\n');
const V2 = Buffer.from('0d0a0d0a000d0a515549540a' + '2111000c' + 'cb007108' + '0a000001' + 'c4ec01bb', 'hex');
const LOCAL = Buffer.from('0d0a0d0a000d0a515549540a' + '20000000', 'hex');

/** A Unix socket, which has no address. */
const UNIX = Buffer.concat([Buffer.from('0d0a0d0a000d0a515549540a' + '213100d8', 'hex'), Buffer.alloc(0xd8, 'a')]);
const UNKNOWN_V1 = Buffer.from('PROXY UNKNOWN 127.0.0.1 127.0.0.1 1 2\r\n');

const xff = (value: string) => [`X-Forwarded-For: ${value}`];

let users = 0;

/** A call of a user of its own; resolves with the address that running calls and sessions have for the user. */
async function addressFor(stand: LimitStand, peer: RawPeer, ...fields: readonly string[]) {
  users += 1;
  const credentials = Buffer.from(`user${users}:secret`).toString('base64');
  peer.send(get('/smartWeb/api/rest/v0/d2/object/hold', `Authorization: Basic ${credentials}`, ...fields));
  await stand.upstream.holding(1);
  const [running] = await stand.read<{ remoteAddress: string }[]>('d2/calls');
  stand.upstream.release();
  expect((await peer.response()).status).toBe(200);
  const sessions = await stand.read<{ userName: string; remoteAddress: string }[]>('d2/sessions');
  const session = sessions.find(({ userName }) => userName === `user${users}`);
  expect(running?.remoteAddress).toBe(session?.remoteAddress);
  return session?.remoteAddress;
}

function call(...fields: readonly string[]): string {
  return get('/smartWeb/api/rest/v0/d2/object/H.Level', ...fields);
}

describe.each(MODES)('the client that a trusted proxy names ($name)', (mode) => {
  it('is the one in the field that is configured, for each request of the connection', async () => {
    const stand = await start(mode, 'x-forwarded-for');
    const peer = await stand.connect();
    for (const [address, ...fields] of [
      ['203.0.113.7', 'X-Forwarded-For: 6.6.6.6, 203.0.113.7, 10.0.0.2'],
      ['203.0.113.8', 'x-forwarded-for: 6.6.6.6', 'X-Forwarded-For: 203.0.113.8'],
      ['127.0.0.1', 'X-Forwarded-For: unknown'],
      ['127.0.0.1', 'Forwarded: for=203.0.113.9'],
    ] as const) {
      expect(await addressFor(stand, peer, ...fields)).toBe(address);
    }
    const passedOn = /x-forwarded-for: .*203\.0\.113\.7, 10\.0\.0\.2(?:\r\nx-forwarded-for: |, )127\.0\.0\.1/i;
    expect(stand.upstream.received).toMatch(passedOn);
    const other = await start(mode, 'forwarded');
    const fields = ['X-Forwarded-For: 203.0.113.9', 'Forwarded: for=6.6.6.6, for="203.0.113.7:80";proto=https'];
    expect(await addressFor(other, await other.connect(), ...fields)).toBe('203.0.113.7');
  });

  it('is the one in the PROXY header, and it goes on to the server', async () => {
    const stand = await start(mode, 'proxy-protocol');
    const [first, second] = [await stand.connect('127.0.0.1', V1), await stand.connect('127.0.0.1', V2)];
    expect(await addressFor(stand, first, 'X-Forwarded-For: 6.6.6.6')).toBe('203.0.113.7');
    expect(await addressFor(stand, first)).toBe('203.0.113.7');
    expect(await addressFor(stand, second)).toBe('203.0.113.8');
    expect(stand.upstream.received).toMatch(/x-forwarded-for: (?:6\.6\.6\.6, )?203\.0\.113\.7\r/i);
    expect(stand.upstream.received).toMatch(/x-forwarded-for: 203\.0\.113\.8\r/i);
    expect(stand.upstream.received).not.toContain('127.0.0.1');
    const local = await stand.connect('127.0.0.1', LOCAL);
    expect(await addressFor(stand, local)).toBe('127.0.0.1');
    expect(await stand.sample('d2_sidecar_connections_accepted_total')).toBe(3);
  });

  it('is ignored when a peer that is not trusted names it', async () => {
    for (const kind of ['x-forwarded-for', 'forwarded'] as const) {
      const stand = await start(mode, kind);
      const fields = ['X-Forwarded-For: 203.0.113.7', 'Forwarded: for=203.0.113.7'];
      expect(await addressFor(stand, await stand.connect('127.0.0.2'), ...fields)).toBe('127.0.0.2');
    }
  });

  it('has the connections of its own counted by a PROXY header, and none by a field', async () => {
    const limited = ({ limits }: Config) => ({ limits: { ...limits, connectionsPerAddress: 1 } });
    const byHeader = await start(mode, 'proxy-protocol', limited);
    for (const header of [V1, V2]) {
      expect((await (await byHeader.connect('127.0.0.1', header)).ask(call())).status).toBe(200);
    }
    await (await byHeader.connect('127.0.0.1', V1)).ended();
    expect(await byHeader.hits('limits.connectionsPerAddress')).toBe(1);
    const byField = await start(mode, 'x-forwarded-for', limited);
    for (let count = 0; count < 3; count += 1) {
      expect((await (await byField.connect()).ask(call(...xff('203.0.113.7')))).status).toBe(200);
    }
    expect(await byField.hits('limits.connectionsPerAddress')).toBe(0);
  });

  it('reaches no path of rest.deny on loopback, named or not, and the log says so once', async () => {
    const denying = ({ rest }: Config) => ({ rest: { ...rest, deny: ['/manager'] } });
    const unnamed = [
      ['x-forwarded-for', [[], ...['127.0.0.1', '203.0.113.7', 'unknown', '', '127.0.0.1:x'].map(xff)]],
      ['forwarded', [[], xff('203.0.113.7'), ...['for=unknown', 'for='].map((value) => [`Forwarded: ${value}`])]],
    ] as const;
    for (const [kind, requests] of unnamed) {
      const stand = await start(mode, kind, denying);
      const peer = await stand.connect();
      for (const fields of requests) {
        expect((await peer.ask(get('/manager', ...fields))).status, fields[0]).toBe(403);
      }
      const logged = stand.logged.filter(({ message }) => message?.includes('named no client'));
      expect(logged).toHaveLength(1);
      expect((await (await stand.connect('127.0.0.2')).ask(get('/manager'))).status).toBe(200);
    }
    const stand = await start(mode, 'proxy-protocol', denying);
    for (const header of [V1, LOCAL, UNIX, Buffer.from('PROXY UNKNOWN\r\n'), UNKNOWN_V1]) {
      expect((await (await stand.connect('127.0.0.1', header)).ask(get('/manager'))).status).toBe(403);
    }
    expect((await (await stand.connect('127.0.0.2')).ask(get('/manager'))).status).toBe(200);
    expect(stand.upstream.received.match(/^GET \/manager/gm)).toHaveLength(1);
  });

  const refused = (stand: LimitStand, reason: string) =>
    stand.sample(`d2_sidecar_proxy_headers_refused_total{reason="${reason}"}`);

  it('has to be in a good PROXY header: the connection is closed without one, and counted', async () => {
    const stand = await start(mode, 'proxy-protocol');
    for (const first of [call(), 'PROXY TCP4 a b 1 2\r\n']) {
      const peer = await stand.connect('127.0.0.1', Buffer.from(first));
      await peer.ended();
      expect(peer.received).toBe('');
    }
    // A load balancer that connects and leaves is none of them.
    if (!mode.isSecure) {
      const peer = await stand.connect();
      peer.socket.end();
      await peer.ended();
    }
    expect(await refused(stand, 'missing')).toBe(1);
    expect(await refused(stand, 'broken')).toBe(1);
    expect(stand.upstream.received).toBe('');
  });

  it('has to be named within timeouts.head, by a header that comes byte by byte', async () => {
    const stand = await start(mode, 'proxy-protocol', ({ timeouts }) => ({ timeouts: { ...timeouts, headMs: 100 } }));
    const peer = stand.client();
    // With 107 bytes, the longest header, it would be broken.
    const header = [...`PROXY TCP4 ${'1'.repeat(100)}`];
    const drip = setInterval(() => peer.send(header.shift() ?? ''), 10);
    await peer.ended();
    clearInterval(drip);
    expect(await refused(stand, 'late')).toBe(1);
    expect(await stand.hits('timeouts.head')).toBe(1);
  });

  const refusal = mode.isSecure ? 'the handshake fails' : '400';
  it.each(['x-forwarded-for', 'proxy-protocol'] as const)(
    `cannot be named by a PROXY header where none is expected: ${refusal} (%s)`,
    async (kind) => {
      const stand = await start(mode, kind);
      const from = kind === 'proxy-protocol' ? '127.0.0.2' : '127.0.0.1';
      for (const header of [V1, V2]) {
        const first = mode.isSecure ? header : Buffer.concat([header, Buffer.from(call())]);
        const peer = await stand.connect(from, first);
        if (mode.isSecure) expect(peer.received).toBe('');
        else expect((await peer.response()).status).toBe(400);
        await peer.ended();
      }
      expect(stand.upstream.connections).toEqual([]);
    },
  );

  it('may have a proxy that is not listed: the log says so once after an hour', async () => {
    const clock = new ManualClock();
    const stand = await startLimitStand(mode, ({ listen }) => ({ listen: { ...listen, trustedProxies: [] } }), {
      clock,
    });
    for (const count of [0, 0, 1, 1]) {
      await (await stand.connect()).ask(call('X-Forwarded-For: 10.0.0.2'));
      expect(stand.logged.filter(({ message }) => message?.includes('listen.trustedProxies'))).toHaveLength(count);
      clock.advanceS(59 * 60);
    }
  });

  it('is read anew after a reload, on new connections', async () => {
    const stand = await start(mode, 'x-forwarded-for');
    const field = 'X-Forwarded-For: 203.0.113.7';
    expect(await addressFor(stand, await stand.connect(), field)).toBe('203.0.113.7');
    const listen = { ...running.listen, trustedProxies: [] };
    (await stand.sidecar.prepareReload({ ...running, listen }))();
    expect(await addressFor(stand, await stand.connect(), field)).toBe('127.0.0.1');
  });
});
