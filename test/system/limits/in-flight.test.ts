/** `limits.inFlight`: what a request beyond it is told, and that everything else goes on as before. */
import { beforeEach, describe, expect, it } from 'vitest';
import { WEBSOCKET } from '../wire/compose.ts';
import { get, type LimitStand, MODES, post, type RawPeer, type Response, startLimitStand } from './limit-stand.ts';

const KEY = 'limits.inFlight';

function expectBusy({ status, head, body }: Response): void {
  expect(status).toBe(503);
  expect(head).toMatch(/^retry-after: 1\r$/im);
  expect(head).toMatch(/^proxy-status: d2-sidecar; error=connection_limit_reached\r$/im);
  expect(JSON.parse(body)).toMatchObject({ status: 503, code: 'D2S_ERR_UPSTREAM_BUSY', title: 'Service Unavailable' });
}

describe.each(MODES)('limits.inFlight ($name)', (mode) => {
  let stand: LimitStand;
  let holders: RawPeer[];
  let peer: RawPeer;

  /** With two held requests, the limit. */
  beforeEach(async () => {
    stand = await startLimitStand(mode, (base) => ({ limits: { ...base.limits, inFlight: 2 } }));
    holders = [await stand.connect(), await stand.connect()];
    for (const holder of holders) holder.send(get('/hold'));
    await stand.upstream.holding(2);
    peer = await stand.connect();
  });

  /** Answers the request that is held for the longest time. */
  const release = async (holder = holders[0] as RawPeer) => {
    stand.upstream.release();
    return (await holder.response()).status;
  };

  it('answers 503, keeps the connection, and serves it as soon as there is a place', async () => {
    const busy = await peer.ask(post('/smartWeb/api/rest/v0/d2/rpc/E.Demo/Call', '{}'));
    expectBusy(busy);
    expect(busy.head).not.toMatch(/^connection: close/im);
    expect(await stand.sample('d2_calls_unanswered_total{kind="rpc"}')).toBe(1);
    expect(await stand.sample('d2_sidecar_requests_in_flight')).toBe(2);
    expect(await stand.sample('d2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_BUSY"}')).toBe(1);
    expect(await release()).toBe(200);
    expect((await peer.ask(get('/a'))).status).toBe(200);
    expect(await release(holders[1])).toBe(200);
    expect(await stand.sample('d2_sidecar_requests_in_flight')).toBe(0);
    expect(await stand.hits(KEY)).toBe(1);
  });

  it('frees the place of a client that has left', async () => {
    expectBusy(await peer.ask(get('/a')));
    holders[0]!.socket.destroy();
    await expect.poll(() => stand.sidecar.reporter.inFlight).toBe(1);
    expect((await peer.ask(get('/a'))).status).toBe(200);
  });

  it('drops a body that comes with its head, after it, in chunks or in many pieces, and opens no connection for it', async () => {
    const before = stand.upstream.connections.length;
    expectBusy(await peer.ask(post('/a', 'SMUGGLED01')));
    expectBusy(await peer.ask(post('/a', 'SMUG', 'Content-Length: 10')));
    peer.send('GLED02');
    expectBusy(await peer.ask(post('/a', '8\r\nSMUG', 'Transfer-Encoding: chunked')));
    peer.send('GLED\r\n0\r\n\r\n');
    expectBusy(await peer.ask(post('/a', 'SMUG'.repeat(250_000))));
    expectBusy(await peer.ask(get('/a')));
    expect(stand.upstream.connections.length).toBe(before);
    await release();
    expect((await peer.ask(get('/behind'))).status).toBe(200);
    expect(stand.upstream.received).toContain('/behind');
    expect(stand.upstream.received).not.toMatch(/SMUG|GLED/);
    expect(await stand.hits(KEY)).toBe(5);
  });

  async function servedBefore(): Promise<RawPeer> {
    const [served] = holders as [RawPeer];
    await release(served);
    holders[0] = await stand.connect();
    holders[0].send(get('/hold'));
    await stand.upstream.holding(2);
    return served;
  }

  it('keeps the upstream connection that the client already has, and sends nothing of a body on it', async () => {
    const served = await servedBefore();
    const before = stand.upstream.connections.length;
    expectBusy(await served.ask(get('/a')));
    await release(holders[1]);
    expect((await served.ask(get('/a'))).status).toBe(200);
    expect(stand.upstream.connections.length).toBe(before);
    holders[1]!.send(get('/hold'));
    await stand.upstream.holding(2);
    expectBusy(await served.ask(post('/a', 'SMUG', 'Content-Length: 8')));
    served.send('GLED');
    await release();
    expect((await served.ask(get('/behind'))).status).toBe(200);
    expect(stand.upstream.received).toContain('/behind');
    expect(stand.upstream.received).not.toMatch(/SMUG|GLED/);
  });

  it('never takes unasked bytes of the upstream for the answer', async () => {
    for (let i = 0; i < 20; i += 1) {
      const served = await servedBefore();
      const unasked = stand.upstream.lastAnswered;
      served.send(get('/a'));
      unasked?.write('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nunasked');
      expectBusy(await served.response());
      served.socket.destroy();
      holders.reverse();
    }
  });

  it('answers each of many requests sent ahead, and counts them one at a time: a connection takes one place', async () => {
    peer.send(get('/a').repeat(200));
    for (let i = 0; i < 200; i += 1) expectBusy(await peer.response());
    const [first] = holders as [RawPeer];
    first.send(get('/a').repeat(20));
    await expect.poll(() => stand.sidecar.reporter.inFlight).toBe(2);
    stand.upstream.release();
    for (let i = 0; i < 21; i += 1) expect((await first.response()).status).toBe(200);
    expect(await stand.hits(KEY)).toBe(200);
  });

  it('answers HEAD without a body, and closes after a client that asked for it, uses HTTP/1.0, or may leave its body out', async () => {
    peer.send(get('/a').replace('GET', 'HEAD'));
    expect((await peer.response(true)).status).toBe(503);
    const last = await stand.connect();
    expectBusy(await last.ask(get('/a', 'Connection: close')));
    await last.ended();
    const old = await stand.connect();
    expectBusy(await old.ask(get('/a').replace('HTTP/1.1', 'HTTP/1.0')));
    await old.ended();
    const busy = await peer.ask(post('/a', '', 'Expect: 100-continue', 'Content-Length: 3'));
    expectBusy(busy);
    expect(busy.head).toMatch(/^connection: close\r$/im);
    await peer.ended();
  });

  it('refuses a WebSocket request, too, and does not count an open tunnel', async () => {
    const refused = await stand.connect();
    for (let i = 0; i < 2; i += 1) expectBusy(await refused.ask(get('/live', ...WEBSOCKET)));
    expect(await stand.hits(KEY)).toBe(2);
    await release();
    for (let i = 0; i < 3; i += 1) {
      const tunnel = await stand.connect();
      expect((await tunnel.ask(get('/live', ...WEBSOCKET))).status).toBe(101);
    }
    expect(await stand.sample('d2_sidecar_upgraded_connections')).toBe(3);
    expect(await stand.sample('d2_sidecar_requests_in_flight')).toBe(1);
  });
});
