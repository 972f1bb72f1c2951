/** `rest.deny`: what a client of another machine is told, and that its connection and everybody else go on as before. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { OUTSIDE_ADDRESS as ADDRESS } from '../../support/wire/outside-address.ts';
import { WEBSOCKET } from '../wire/compose.ts';
import { get, type LimitStand, MODES, post, type RawPeer, type Response, startLimitStand } from './limit-stand.ts';

if (ADDRESS === undefined) console.warn('SKIPPED: the tests of rest.deny; they need an address that is not loopback');

const KEY = 'rest.deny';
const PROBLEM = { status: 403, title: 'Forbidden', error: 'http_request_denied', code: 'D2S_ERR_DENIED' };

function expectDenied({ status, head, body }: Response): void {
  expect(status).toBe(403);
  expect(head).toMatch(/^content-type: application\/problem\+json\r$/im);
  expect(head).toMatch(/^proxy-status: d2-sidecar; error=http_request_denied\r$/im);
  expect(JSON.parse(body)).toMatchObject(PROBLEM);
}

function denying(deny: readonly string[]): (base: Config) => Partial<Config> {
  return ({ rest }) => ({ rest: { ...rest, deny } });
}

describe.each(ADDRESS === undefined ? [] : MODES)('rest.deny ($name)', (mode) => {
  let stand: LimitStand;
  let peer: RawPeer;
  let running: Config;
  const exchanges = (ending: string) => stand.sample(`d2_sidecar_exchanges_total{ending="${ending}"}`);

  beforeEach(async () => {
    stand = await startLimitStand(mode, (base) => {
      running = base;
      return denying(['/manager'])(base);
    });
    peer = await stand.connect(ADDRESS);
  });

  it('answers 403, counts it, and the connection goes on', async () => {
    const answer = await peer.ask(get('/manager/html'));
    expectDenied(answer);
    expect(answer.head).not.toMatch(/^connection: close/im);
    expect((await peer.ask(get('/a'))).status).toBe(200);
    expect(stand.upstream.received).toContain('/a ');
    expect(stand.upstream.received).not.toContain('manager');
    expect(await stand.hits(KEY)).toBe(1);
    expect(await exchanges('denied')).toBe(1);
    expect(await exchanges('failed')).toBe(0);
  });

  it('refuses upgrades to WebSocket and to others, and targets in other writings; a client on loopback gets through', async () => {
    expectDenied(await peer.ask(get('/manager/live', ...WEBSOCKET)));
    expectDenied(await peer.ask(get('/manager/live', 'Connection: Upgrade', 'Upgrade: h2c')));
    for (const target of ['http://a/x/..;b/%6danager', '/x\\..\\manager']) expectDenied(await peer.ask(get(target)));
    expect(stand.upstream.received).toBe('');
    expect(await stand.hits(KEY)).toBe(4);
    const local = await stand.connect('127.0.0.5');
    expect((await local.ask(get('/manager/html'))).status).toBe(200);
    expect(await stand.hits(KEY)).toBe(4);
  });

  it('counts a denied call neither as answered nor as failed', async () => {
    stand = await startLimitStand(mode, denying(['/smartWeb/api/rest/v0/d2/rpc']));
    const call = post('/smartWeb/api/rest/v0/d2/rpc/E.Demo/Call', '{}');
    expectDenied(await (await stand.connect(ADDRESS)).ask(call));
    const rpc = await stand.read('metrics/d2/rpc');
    expect(rpc).toMatchObject({ timers: { rpc: { count: 0 } }, meters: { 'rpc.errors': { count: 0 } } });
    expect(await stand.sample('d2_calls_unanswered_total{kind="rpc"}')).toBe(0);
  });

  it('applies a new list on a reload', async () => {
    const { sidecar } = stand;
    expectDenied(await peer.ask(get('/manager')));
    (await sidecar.prepareReload({ ...running, ...denying(['/other'])(running) }))();
    expect((await peer.ask(get('/manager'))).status).toBe(200);
    expectDenied(await peer.ask(get('/other/x')));
    (await sidecar.prepareReload({ ...running, ...denying([])(running) }))();
    expect((await peer.ask(get('/other/x'))).status).toBe(200);
  });
});
