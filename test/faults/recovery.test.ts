/** What lasts and what passes: an upstream that is not there yet, restarts, answers at the wrong time, or has no name for a while. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { FakeResolver, NAME } from './fake-resolver.ts';
import { answering, atHeads, FaultStand, OK, sound } from './fault-stand.ts';

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

let stand: FaultStand;

afterEach(async () => {
  vi.restoreAllMocks();
  await stand.close();
});

for (const dataPath of ['auto', 'gateway'] as const) {
  const path = dataPath === 'auto' ? 'relay' : 'gateway';
  const endings = async () => {
    const samples = await stand.samples();
    const of = (ending: string) => samples.get(`d2_sidecar_exchanges_total{path="${path}",ending="${ending}"}`);
    return { completed: of('completed'), failed: of('failed'), cancelled: of('cancelled') };
  };

  describe(`dataPath ${dataPath}: an upstream`, () => {
    it('that is down at the start serves the same client connection once it is up', async () => {
      stand = await FaultStand.start({ dataPath });
      expect((await stand.samples()).get('d2_upstream_reachable')).toBeUndefined();
      const client = stand.client(RPC);
      await client.until('"code"');
      expect(client.received).toMatch(PROBLEM_502);
      expect((await stand.samples()).get('d2_upstream_reachable')).toBe(0);
      await stand.upstream.comeUp(sound);
      client.send(RPC);
      await client.until('fine');
      expect((await stand.samples()).get('d2_upstream_reachable')).toBe(1);
      expect(await endings()).toEqual({ completed: 1, failed: 1, cancelled: 0 });
    });

    it('that is down is told of once, and not for each request', async () => {
      stand = await FaultStand.start({ dataPath });
      const client = stand.client();
      for (let count = 1; count <= 20; count += 1) {
        client.send(RPC);
        await expect.poll(() => client.received.split('"code"').length - 1).toBe(count);
      }
      const samples = await stand.samples();
      expect(samples.get('d2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_REFUSED"}')).toBe(20);
      expect(stand.logged.filter(({ level }) => level !== 'info')).toEqual([
        {
          level: 'warn',
          details: { code: 'D2S_ERR_UPSTREAM_REFUSED', reason: 'ECONNREFUSED', path, failed: 1 },
          message: 'The upstream refused the connection.',
        },
      ]);
    });

    it('that restarts costs the calls under way, refuses while it is down, and serves again', async () => {
      stand = await FaultStand.start({
        dataPath,
        script: answering('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbegin'),
      });
      const [caught, tunnel] = [stand.client(RPC), stand.client(WEBSOCKET)];
      await caught.until('begin');
      await tunnel.until('begin');
      const idle = stand.client();
      await stand.upstream.goDown();
      await Promise.all([caught.ended(), tunnel.ended()]);
      idle.send(RPC);
      await idle.until('"code"');
      await stand.upstream.comeUp(sound);
      idle.send(RPC);
      await idle.until('fine');
      const samples = await stand.samples();
      expect(samples.get('d2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_INCOMPLETE"}')).toBe(2);
      expect(samples.get('d2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_REFUSED"}')).toBe(1);
      expect(samples.get('d2_calls_unanswered_total{kind="rpc"}')).toBe(2);
      expect(samples.get('d2_sidecar_exchanges_open')).toBe(0);
    });

    it('that restarts ends the WebSockets that it had', async () => {
      stand = await FaultStand.start({ dataPath, script: answering(`${SWITCHING}hello`) });
      const client = stand.client(WEBSOCKET);
      await client.until('hello');
      expect((await stand.samples()).get('d2_sidecar_upgraded_connections')).toBe(1);
      await stand.upstream.goDown();
      await client.ended();
      client.socket.end();
      await expect.poll(async () => (await stand.samples()).get('d2_sidecar_upgraded_connections')).toBe(0);
    });

    it('that answers twice gives its second answer to nobody', async () => {
      stand = await FaultStand.start({
        dataPath,
        script: (upstream, nth) =>
          atHeads(upstream, () => upstream.write(nth === 1 ? `${OK}${OK.replace('fine', 'evil')}` : OK)),
      });
      const client = stand.client(RPC);
      await client.until('fine');
      client.send(RPC);
      await expect.poll(() => client.received.split('fine').length - 1).toBe(2);
      expect(client.received).not.toContain('evil');
      expect(stand.upstream.scripted).toHaveLength(2);
      expect(await endings()).toEqual({ completed: 2, failed: 0, cancelled: 0 });
    });

    it('that answers too early, before it has the request, has answered', async () => {
      const answer = 'HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmuch';
      stand = await FaultStand.start({ dataPath, script: (upstream) => atHeads(upstream, () => upstream.end(answer)) });
      const client = stand.client(`POST ${PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf`);
      await client.until('much');
      await client.ended();
      expect(client.received).toMatch(/^HTTP\/1\.1 413 /);
      expect(await endings()).toEqual({ completed: 1, failed: 0, cancelled: 0 });
    });

    it('that half-closes behind its answer has answered, and its client goes on with another connection', async () => {
      stand = await FaultStand.start({ dataPath, script: (upstream) => atHeads(upstream, () => upstream.end(OK)) });
      const client = stand.client(RPC);
      await client.until('fine');
      client.send(RPC);
      await expect.poll(() => client.received.split('fine').length - 1).toBe(2);
      expect(await endings()).toEqual({ completed: 2, failed: 0, cancelled: 0 });
    });

    it('that never answers is waited for until the client has enough: an aborted call, and no error', async () => {
      stand = await FaultStand.start({ dataPath, script: (upstream) => upstream.resume() });
      const client = stand.client(RPC);
      await expect.poll(() => stand.upstream.scripted[0]?.bytesRead ?? 0).toBeGreaterThan(0);
      expect((await stand.samples()).get('d2_sidecar_exchanges_open')).toBe(1);
      client.socket.resetAndDestroy();
      await expect.poll(() => stand.sidecar.openExchanges).toBe(0);
      const samples = await stand.samples();
      expect(samples.get('d2_calls_aborted_total{kind="rpc"}')).toBe(1);
      expect(samples.get('d2_calls_unanswered_total{kind="rpc"}')).toBe(0);
      expect(await endings()).toEqual({ completed: 0, failed: 0, cancelled: 1 });
    });
  });

  describe(`dataPath ${dataPath}: the upstream’s name`, () => {
    const named = {
      dataPath,
      config: ({ upstream }: { upstream: object }) => ({ upstream: { ...upstream, host: NAME } }),
    };

    it('that is gone later costs new connections only, and is asked for anew each time', async () => {
      const resolver = new FakeResolver();
      resolver.answer = resolver.loopback;
      stand = await FaultStand.start({ ...named, script: sound } as never);
      const [standing, fresh] = [stand.client(RPC), stand.client()];
      await standing.until('fine');
      resolver.answer = resolver.gone;
      standing.send(RPC);
      await expect.poll(() => standing.received.split('fine').length - 1).toBe(2);
      fresh.send(RPC);
      await fresh.until('"code":"D2S_ERR_UPSTREAM_DNS"');
      expect((await stand.samples()).get('d2_upstream_reachable')).toBe(0);
      resolver.answer = resolver.loopback;
      fresh.send(RPC);
      await fresh.until('fine');
      expect(resolver.asked).toBe(3);
      expect((await stand.samples()).get('d2_upstream_reachable')).toBe(1);
      const failures = 'd2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_DNS"}';
      expect((await stand.samples()).get(failures)).toBe(1);
    });

    it('is asked for once by all who wait for a resolver that is silent', async () => {
      const resolver = new FakeResolver();
      stand = await FaultStand.start({ ...named, script: sound } as never);
      const clients = Array.from({ length: 20 }, () => stand.client(RPC));
      await expect.poll(() => stand.sidecar.openExchanges).toBe(20);
      expect(resolver.asked).toBe(1);
      resolver.release();
      await Promise.all(clients.map((client) => client.until('fine')));
      expect(resolver.asked).toBe(1);
    });
  });
}
