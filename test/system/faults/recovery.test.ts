/** Upstreams that are not there yet, restart, answer at the wrong time, or have no name for a while. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { FakeResolver, NAME } from './fake-resolver.ts';
import { answering, atHeads, FaultHarness, OK, sound } from './fault-stand.ts';

const PATH = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test';
const RPC = `POST ${PATH} HTTP/1.1\r\nHost: plant.example\r\nContent-Length: 0\r\n\r\n`;
const WEBSOCKET = [
  'GET /smartWeb/live HTTP/1.1',
  'Host: plant.example',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13\r\n\r\n',
].join('\r\n');
const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
const PROBLEM_502 = /^HTTP\/1\.1 502 .*"code":"D2S_ERR_UPSTREAM_REFUSED"\}/s;

let harness: FaultHarness;

afterEach(async () => {
  vi.restoreAllMocks();
  await harness.close();
});

for (const dataPath of ['auto', 'gateway'] as const) {
  const path = dataPath === 'auto' ? 'relay' : 'gateway';
  const endings = async () => {
    const samples = await harness.samples();
    const of = (ending: string) => samples.get(`d2_sidecar_exchanges_total{path="${path}",ending="${ending}"}`);
    return { completed: of('completed'), failed: of('failed'), cancelled: of('cancelled') };
  };

  describe(`dataPath ${dataPath}: an upstream`, () => {
    it('that is down at the start serves the same client connection once it is up', async () => {
      harness = await FaultHarness.start({ dataPath });
      expect((await harness.samples()).get('d2_upstream_reachable')).toBeUndefined();
      const client = harness.client(RPC);
      await client.until('"code"');
      expect(client.received).toMatch(PROBLEM_502);
      expect((await harness.samples()).get('d2_upstream_reachable')).toBe(0);
      await harness.upstream.comeUp(sound);
      client.send(RPC);
      await client.until('fine');
      expect((await harness.samples()).get('d2_upstream_reachable')).toBe(1);
      expect(await endings()).toEqual({ completed: 1, failed: 1, cancelled: 0 });
    });

    it('that is down is logged once, not for each request', async () => {
      harness = await FaultHarness.start({ dataPath });
      const client = harness.client();
      for (let count = 1; count <= 20; count += 1) {
        client.send(RPC);
        await expect.poll(() => client.received.split('"code"').length - 1).toBe(count);
      }
      const samples = await harness.samples();
      expect(samples.get('d2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_REFUSED"}')).toBe(20);
      expect(harness.logged.filter(({ level }) => level !== 'info')).toEqual([
        {
          level: 'warn',
          details: { code: 'D2S_ERR_UPSTREAM_REFUSED', reason: 'ECONNREFUSED', path, failed: 1 },
          message: 'The upstream refused the connection.',
        },
      ]);
    });

    it('that restarts fails the calls in progress, refuses calls while it is down, and serves again', async () => {
      harness = await FaultHarness.start({
        dataPath,
        script: answering('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbegin'),
      });
      const [caught, tunnel] = [harness.client(RPC), harness.client(WEBSOCKET)];
      await caught.until('begin');
      await tunnel.until('begin');
      const idle = harness.client();
      await harness.upstream.goDown();
      await Promise.all([caught.ended(), tunnel.ended()]);
      idle.send(RPC);
      await idle.until('"code"');
      await harness.upstream.comeUp(sound);
      idle.send(RPC);
      await idle.until('fine');
      const samples = await harness.samples();
      expect(samples.get('d2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_INCOMPLETE"}')).toBe(2);
      expect(samples.get('d2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_REFUSED"}')).toBe(1);
      expect(samples.get('d2_calls_unanswered_total{kind="rpc"}')).toBe(2);
      expect(samples.get('d2_sidecar_exchanges_open')).toBe(0);
    });

    it('that restarts ends its WebSockets', async () => {
      harness = await FaultHarness.start({ dataPath, script: answering(`${SWITCHING}hello`) });
      const client = harness.client(WEBSOCKET);
      await client.until('hello');
      expect((await harness.samples()).get('d2_sidecar_upgraded_connections')).toBe(1);
      await harness.upstream.goDown();
      await client.ended();
      client.socket.end();
      await expect.poll(async () => (await harness.samples()).get('d2_sidecar_upgraded_connections')).toBe(0);
    });

    it('that answers twice: the second answer is dropped', async () => {
      harness = await FaultHarness.start({
        dataPath,
        script: (upstream, nth) =>
          atHeads(upstream, () => upstream.write(nth === 1 ? `${OK}${OK.replace('fine', 'evil')}` : OK)),
      });
      const client = harness.client(RPC);
      await client.until('fine');
      client.send(RPC);
      await expect.poll(() => client.received.split('fine').length - 1).toBe(2);
      expect(client.received).not.toContain('evil');
      expect(harness.upstream.scripted).toHaveLength(2);
      expect(await endings()).toEqual({ completed: 2, failed: 0, cancelled: 0 });
    });

    it('that answers before it has the whole request completes the exchange', async () => {
      const answer = 'HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmuch';
      harness = await FaultHarness.start({
        dataPath,
        script: (upstream) => atHeads(upstream, () => upstream.end(answer)),
      });
      const client = harness.client(`POST ${PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf`);
      await client.until('much');
      await client.ended();
      expect(client.received).toMatch(/^HTTP\/1\.1 413 /);
      expect(await endings()).toEqual({ completed: 1, failed: 0, cancelled: 0 });
    });

    it('that half-closes after its answer completes the exchange, and its client goes on with a new connection', async () => {
      harness = await FaultHarness.start({ dataPath, script: (upstream) => atHeads(upstream, () => upstream.end(OK)) });
      const client = harness.client(RPC);
      await client.until('fine');
      client.send(RPC);
      await expect.poll(() => client.received.split('fine').length - 1).toBe(2);
      expect(await endings()).toEqual({ completed: 2, failed: 0, cancelled: 0 });
    });

    it('that never answers is waited for until the client leaves: an aborted call, and no error', async () => {
      harness = await FaultHarness.start({ dataPath, script: (upstream) => upstream.resume() });
      const client = harness.client(RPC);
      await expect.poll(() => harness.upstream.scripted[0]?.bytesRead ?? 0).toBeGreaterThan(0);
      expect((await harness.samples()).get('d2_sidecar_exchanges_open')).toBe(1);
      client.socket.resetAndDestroy();
      await expect.poll(() => harness.sidecar.openExchanges).toBe(0);
      const samples = await harness.samples();
      expect(samples.get('d2_calls_aborted_total{kind="rpc"}')).toBe(1);
      expect(samples.get('d2_calls_unanswered_total{kind="rpc"}')).toBe(0);
      expect(await endings()).toEqual({ completed: 0, failed: 0, cancelled: 1 });
    });
  });

  describe(`dataPath ${dataPath}: the name of the upstream`, () => {
    const named = {
      dataPath,
      config: ({ upstream }: { upstream: object }) => ({ upstream: { ...upstream, host: NAME } }),
    };

    it('affects new connections only when it is gone, and is looked up for each of them', async () => {
      const resolver = new FakeResolver();
      resolver.answer = resolver.loopback;
      harness = await FaultHarness.start({ ...named, script: sound } as never);
      const [established, fresh] = [harness.client(RPC), harness.client()];
      await established.until('fine');
      resolver.answer = resolver.gone;
      established.send(RPC);
      await expect.poll(() => established.received.split('fine').length - 1).toBe(2);
      fresh.send(RPC);
      await fresh.until('"code":"D2S_ERR_UPSTREAM_DNS"');
      expect((await harness.samples()).get('d2_upstream_reachable')).toBe(0);
      resolver.answer = resolver.loopback;
      fresh.send(RPC);
      await fresh.until('fine');
      expect(resolver.asked).toBe(3);
      expect((await harness.samples()).get('d2_upstream_reachable')).toBe(1);
      const failures = 'd2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_DNS"}';
      expect((await harness.samples()).get(failures)).toBe(1);
    });

    it('is looked up once for all clients that wait for a silent resolver', async () => {
      const resolver = new FakeResolver();
      harness = await FaultHarness.start({ ...named, script: sound } as never);
      const clients = Array.from({ length: 20 }, () => harness.client(RPC));
      await expect.poll(() => harness.sidecar.openExchanges).toBe(20);
      expect(resolver.asked).toBe(1);
      resolver.release();
      await Promise.all(clients.map((client) => client.until('fine')));
      expect(resolver.asked).toBe(1);
    });
  });
}
