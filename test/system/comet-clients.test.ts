/** The real `cometd` client over each transport: the sidecar counts what the clients count. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BrowserPlan, logIn, toPlan, visit } from '../support/comet/browsers.ts';
import { startCometSidecar } from '../support/comet/comet-sidecar.ts';
import { CometdPeer, type Transport } from '../support/comet/cometd-peer.ts';
import { startCometdPlant } from '../support/comet/cometd-plant.ts';
import { LOGOUT_PATH } from '../support/comet/login-desk.ts';
import { FORBIDDEN_OBJECT, type Plant } from '../support/comet/plant.ts';
import type { PlantCall } from '../support/comet/plant-call.ts';
import { sumOf, Tally } from '../support/comet/tally.ts';
import { until } from '../support/comet/until.ts';
import { startWebSocketPlant } from '../support/comet/websocket-plant.ts';
import { deferTo } from '../support/deferred.ts';
import { StatisticsReader, toLogins } from './comet/statistics.ts';

const CHANNELS = [...Array.from({ length: 12 }, (_, i) => `H.Boiler${i}.Speed`), 'U.Sum(1)', 'U.a-b_c~d!e$f@g'];
/** Names that cannot be channels of this client. */
const SERVICE = ['H.Kotolňa.Výkon', 'S.100%', 'S.a b/c?d', 'S."quoted"', 'S.{name}', 'S.subscriptions', 'S.1'];
const OBJECTS = [...CHANNELS, ...SERVICE];
const OBJECTS_OF_A_CLIENT = 4;
const ROUNDS = 3;

const MANNERS = ['data', 'late', 'ack', 'refused', 'refused-late'] as const;
const METHODS: readonly Omit<PlantCall, 'manner' | 'workMs'>[] = [
  { service: 'rpc', eventName: 'E.Boiler', rpcName: 'ReadState' },
  { service: 'rpc', eventName: 'E.Boiler', interfaceName: 'Control', rpcName: 'Start' },
  { service: 'rpc', eventName: 'E.Kotolňa', rpcName: 'Zapni' },
  { service: 'rpcJava', eventName: 'E.Reports', rpcName: 'Daily' },
  { service: 'rpcJava', eventName: 'E.Reports', interfaceName: 'Export', rpcName: 'ToCsv' },
  { service: 'rpcSBA', eventName: 'E.Files', rpcName: 'Download' },
];

/** Clients that share a session, with the counts of all that ever did. */
interface Login {
  readonly userName: string;
  peers: CometdPeer[];
  tallies: Tally[];
}

class Crowd {
  readonly logins: Login[] = [];
  created = 0;
  readonly #plant: Plant;
  readonly #origin: string;
  readonly #past: Tally[] = [];
  #expectedValues = 0;

  constructor(plant: Plant, origin: string) {
    this.#plant = plant;
    this.#origin = origin;
  }

  get peers(): CometdPeer[] {
    return this.logins.flatMap(({ peers }) => peers);
  }

  get tallies(): Tally[] {
    return [...this.#past, ...this.logins.flatMap(({ tallies }) => tallies)];
  }

  /** Tabs of one cookie share a login; without a cookie each client is one. */
  async arrive(plan: BrowserPlan, transport: Transport): Promise<void> {
    const { browser, login, tabs } = plan;
    await logIn(this.#origin, plan);
    const peers = Array.from({ length: tabs }, () => new CometdPeer(this.#origin, browser, transport));
    const grouped = login.startsWith('form') ? [peers] : peers.map((peer) => [peer]);
    for (const group of grouped) {
      this.logins.push({ userName: browser.userName, peers: group, tallies: group.map(({ tally }) => tally) });
    }
    this.created += grouped.length;
    // In sequence, since the first handshake may set a cookie that the second has to send.
    for (const peer of peers) await peer.connect();
  }

  async push(objects: readonly string[] = OBJECTS): Promise<void> {
    for (const object of objects) {
      this.#expectedValues += this.peers.filter(({ tally }) => tally.monitored.has(object)).length;
      this.#plant.push(object);
    }
    const received = () => this.tallies.reduce((sum, { valueCount }) => sum + valueCount, 0);
    await until(`${this.#expectedValues} values have come`, () => received() >= this.#expectedValues);
  }

  /** One to three calls of each client in a batch. */
  async call(round: number): Promise<void> {
    const toCall = (n: number): PlantCall => {
      const method = METHODS[n % METHODS.length] as (typeof METHODS)[number];
      return { ...method, manner: MANNERS[n % MANNERS.length] ?? 'ack', workMs: (n * 7) % 30 };
    };
    const batch = (at: number) => Array.from({ length: 1 + (at % 3) }, (_, i) => toCall(at + i));
    await Promise.all(this.peers.map((peer, i) => peer.call(...batch(i + round))));
  }

  /** The server forgets the client, which comes back: without a cookie as another session. */
  async forget(login: Login, peer: CometdPeer, hasCookie: boolean): Promise<void> {
    if (!hasCookie) {
      this.#past.push(...login.tallies);
      peer.tally = new Tally();
      for (const tally of login.tallies.splice(0, 1, peer.tally)) tally.monitored.clear();
      this.created += 1;
    }
    const before = peer.handshakes;
    this.#plant.forget(peer.clientId as string);
    await peer.recovered(before);
  }

  async leave(login: Login, peers: readonly CometdPeer[], leave: (peer: CometdPeer) => unknown): Promise<void> {
    for (const peer of peers) await leave(peer);
    login.peers = login.peers.filter((peer) => !peers.includes(peer));
    if (login.peers.length === 0) this.#past.push(...this.logins.splice(this.logins.indexOf(login), 1)[0]!.tallies);
  }

  async noticed(): Promise<void> {
    await until('the server has noticed who left', () => this.#plant.clientCount === this.peers.length);
  }
}

const CASES = [
  ['long-polling', startCometdPlant, 'COMET_LONG_POLLING'],
  ['websocket', startWebSocketPlant, 'COMET_WEBSOCKET'],
] as const;

/** The sidecar's counts may lag a little. */
const SOON = { timeout: 6_000, interval: 50 };
/** Clients that left without a disconnect are gone only after `sessions.cometGone`. */
const LATER = { timeout: 12_000, interval: 100 };

// The stages build on each other.
describe.each(CASES)('cometd over %s', { timeout: 60_000 }, (transport, startPlant, connectionType) => {
  const defer = deferTo(afterAll);
  let origin: string;
  let reader: StatisticsReader;
  let crowd: Crowd;
  let all: CometdPeer[] = [];
  beforeAll(async () => {
    const plant = await startPlant();
    defer(() => plant.close());
    const { listen, monitor } = await startCometSidecar(defer, plant.port);
    defer(() => all.map((peer) => peer.kill()));
    origin = `http://${listen}`;
    reader = new StatisticsReader(monitor);
    crowd = new Crowd(plant, origin);
  });

  const agrees = async (wait = SOON) => {
    await expect.poll(() => reader.statistics(), wait).toEqual(sumOf(crowd.tallies));
    const logins = crowd.logins.map(({ userName, tallies }) => ({ userName, ...sumOf(tallies) }));
    await expect.poll(() => reader.logins(), wait).toEqual(toLogins(logins, connectionType));
    expect(await reader.created()).toEqual([crowd.created, crowd.logins.length]);
  };

  it('each login is a session of its own, tabs share it', async () => {
    const plans = [
      ...[toPlan('žofia', 'form-on-page', 2), toPlan('žofia', 'form', 1), toPlan('ben', 'form', 2)],
      ...[toPlan('cyril', 'ext', 2), toPlan('dora', 'basic', 1), toPlan('eva', 'form-on-page', 2)],
      ...[toPlan('fred', 'form', 1), toPlan('greta', 'form', 1)],
    ];
    for (const plan of plans) await crowd.arrive(plan, transport);
    all = crowd.peers;
    expect([all.length, crowd.logins.length]).toEqual([12, 9]);
    await agrees();
  });

  it('subscriptions, values and calls are counted, by name and by session', async () => {
    const manner = (object: string) => (CHANNELS.includes(object) ? 'channel' : 'service');
    const granted = await Promise.all(
      all.flatMap((peer, i) =>
        Array.from({ length: OBJECTS_OF_A_CLIENT }, (__, k) => OBJECTS[(i * 2 + k) % OBJECTS.length] as string).map(
          (object) => peer.monitor(object, manner(object)),
        ),
      ),
    );
    expect(granted).not.toContain(false);
    for (const way of ['channel', 'service'] as const) expect(await all[0]!.monitor(FORBIDDEN_OBJECT, way)).toBe(false);
    for (let round = 0; round < ROUNDS; round += 1) await Promise.all([crowd.call(round), crowd.push()]);
    await Promise.all(all.map((peer) => peer.unmonitor([...peer.tally.monitored][0] ?? '')));
    await crowd.push();
    const { subscriptions, values, calls } = sumOf(crowd.tallies);
    expect([Object.keys(values).length, Object.keys(calls).length]).toEqual([OBJECTS.length, METHODS.length]);
    await agrees();
    for (const [object, count] of Object.entries(values).slice(-5)) {
      expect([object, await reader.object(object)]).toEqual([object, [subscriptions[object] ?? 0, count]]);
    }
  });

  it('clients whose connection broke, or that the server forgot, are counted once', async () => {
    await Promise.all(all.filter((_peer, i) => i % 3 === 0).map((peer) => peer.breakConnection()));
    await crowd.push();
    const [zofia, , , cyril] = crowd.logins as [Login, Login, Login, Login];
    await crowd.forget(zofia, zofia.peers[0]!, true);
    await crowd.forget(cyril, cyril.peers[0]!, false);
    await crowd.push();
    await crowd.call(ROUNDS);
    await agrees();
  });

  it('what clients monitored that left is given back, and the sessions of others go on', async () => {
    const kill = (peer: CometdPeer) => peer.kill();
    const disconnect = (peer: CometdPeer) => peer.disconnect();
    const [zofia, , ben, cyril, cyril2, , eva, fred] = crowd.logins as Login[];
    await crowd.leave(zofia!, zofia!.peers.slice(0, 1), kill);
    await visit(origin, ben!.peers[0]!.browser, LOGOUT_PATH);
    await crowd.leave(ben!, ben!.peers, kill);
    await crowd.leave(cyril!, cyril!.peers, kill);
    await crowd.leave(cyril2!, cyril2!.peers, disconnect);
    await crowd.leave(eva!, eva!.peers.slice(0, 1), disconnect);
    await crowd.leave(fred!, fred!.peers, kill);
    await crowd.noticed();
    await crowd.push();
    await agrees(LATER);
  });

  it('nothing is left of anybody', async () => {
    for (const [i, login] of [...crowd.logins].entries()) {
      await crowd.leave(login, login.peers, (peer) => (i % 2 === 0 ? peer.kill() : peer.disconnect()));
    }
    await crowd.noticed();
    await agrees(LATER);
    expect([sumOf(crowd.tallies).subscriptions, await reader.sessions()]).toEqual([{}, []]);
  });
});
