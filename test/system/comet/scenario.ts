/**
 * What fifty clients do in a few seconds, from a seed, in stages that end when everything is quiet: everything sent has then
 * been received, so that server, clients and sidecar must have the same counts.
 */
import { createRandom, type Random } from '../../../src/demo/random.ts';
import { type BrowserPlan, logIn, logOut, planBrowsers } from '../../support/comet/browsers.ts';
import type { CometdPeer } from '../../support/comet/cometd-peer.ts';
import type { Browser } from '../../support/comet/peer.ts';
import { FORBIDDEN_OBJECT, type Plant } from '../../support/comet/plant.ts';
import type { AnswerManner, PlantCall } from '../../support/comet/plant-call.ts';
import { type Counts, sumOf } from '../../support/comet/tally.ts';
import { until } from '../../support/comet/until.ts';
import { playsAll } from '../../support/effort.ts';

export interface ScenarioParts {
  readonly plant: Plant;
  /** Where clients connect, e.g. `http://127.0.0.1:8081`. */
  readonly origin: string;
  readonly createPeer: (browser: Browser) => CometdPeer;
  /** Objects that are monitored by their channel, and through the service. */
  readonly objects: { readonly channel: readonly string[]; readonly service: readonly string[] };
}

const SEED = 4;
const OBJECTS_OF_A_CLIENT = 5;
const ROUNDS = playsAll ? 12 : 4;
const PUSHES_OF_A_ROUND = 20;
const CALLS_OF_A_ROUND = 16;

const MANNERS: readonly AnswerManner[] = ['data', 'data', 'data', 'late', 'late', 'ack', 'refused', 'refused-late'];
const METHODS: readonly Omit<PlantCall, 'manner' | 'workMs'>[] = [
  { service: 'rpc', eventName: 'E.Boiler', rpcName: 'ReadState' },
  { service: 'rpc', eventName: 'E.Boiler', interfaceName: 'Control', rpcName: 'Start' },
  { service: 'rpc', eventName: 'E.Kotolňa', rpcName: 'Zapni' },
  { service: 'rpcJava', eventName: 'E.Reports', rpcName: 'Daily' },
  { service: 'rpcJava', eventName: 'E.Reports', interfaceName: 'Export', rpcName: 'ToCsv' },
  { service: 'rpcSBA', eventName: 'E.Files', rpcName: 'Download' },
];

/** A browser with its open tabs. */
interface Place {
  readonly plan: BrowserPlan;
  tabs: readonly CometdPeer[];
}

export class Scenario {
  readonly peers: CometdPeer[] = [];
  readonly #parts: ScenarioParts;
  readonly #random: Random;
  readonly #places: Place[];
  #expectedValues = 0;

  constructor(parts: ScenarioParts) {
    this.#parts = parts;
    this.#random = createRandom(SEED);
    this.#places = planBrowsers().map((plan) => ({ plan, tabs: [] }));
  }

  /** Counts of all clients, past ones included. */
  get counted(): Counts {
    return sumOf(this.peers.map(({ tally }) => tally));
  }

  async arrive(): Promise<void> {
    await Promise.all(this.#places.map((place, number) => this.#arrive(place, number)));
  }

  /** All monitor objects, receive values and call; then each stops monitoring one object, and receives values of the others. */
  async work(): Promise<void> {
    await Promise.all(this.peers.map((peer) => this.#monitorSome(peer)));
    for (let round = 0; round < ROUNDS; round += 1) {
      const calls = this.#planCalls().map(([peer, planned]) => peer.call(...planned));
      this.#push(Array.from({ length: PUSHES_OF_A_ROUND }, () => this.#pick(this.#allObjects)));
      await Promise.all([...calls, this.#settle()]);
    }
    await Promise.all(this.peers.map((peer) => peer.unmonitor(this.#pick([...peer.tally.monitored]))));
    await this.#pushAll();
  }

  /** A third lose their connection and resume; the server forgets some, which handshake again. Values and calls continue. */
  async comeBack(): Promise<void> {
    await Promise.all(this.peers.filter((_, index) => index % 3 === 0).map((peer) => peer.breakConnection()));
    await this.#pushAll();
    const forgotten = this.peers.filter((_, index) => index % 7 === 5);
    await Promise.all(
      forgotten.map((peer) => {
        const before = peer.handshakes;
        this.#parts.plant.forget(peer.clientId as string);
        return peer.recovered(before);
      }),
    );
    await this.#pushAll();
    await Promise.all(this.#planCalls().map(([peer, calls]) => peer.call(...calls)));
  }

  /**
   * Of every six browsers, one is killed, one loses its first tab, one logs out, one disconnects its first tab, one disconnects
   * altogether, and one stays. Resolves when the server has noticed all of it, and the others received values again.
   */
  async leave(): Promise<void> {
    const { origin } = this.#parts;
    const stay = this.#places.map(async ({ plan, tabs }, index): Promise<readonly CometdPeer[]> => {
      const [first, ...others] = tabs;
      if (first === undefined) return [];
      if (index % 6 === 0) for (const tab of tabs) tab.kill();
      else if (index % 6 === 1) first.kill();
      else if (index % 6 === 2 && plan.login.startsWith('form')) await this.#logOut(plan.browser, tabs);
      else if (index % 6 === 3) await first.disconnect();
      else if (index % 6 === 4) await Promise.all(tabs.map((tab) => tab.disconnect()));
      else return tabs;
      return index % 6 === 1 || index % 6 === 3 ? others : [];
    });
    const left = await Promise.all(stay);
    this.#places.forEach((place, index) => {
      place.tabs = left[index] ?? [];
    });
    const there = left.flat().length;
    const { ledger } = this.#parts.plant;
    await until(`the server ${origin} has noticed who left`, () => ledger.clientsThere === there);
    await this.#pushAll();
  }

  /** The remaining clients leave, every second one without a disconnect. */
  async leaveAll(): Promise<void> {
    const tabs = this.#places.flatMap((place) => place.tabs);
    await Promise.all(tabs.map(async (tab, index) => (index % 2 === 0 ? tab.kill() : tab.disconnect())));
    const { ledger } = this.#parts.plant;
    await until('the server has noticed that all are gone', () => ledger.clientsThere === 0);
  }

  /** Cleans up after a test that failed half-way. */
  killAll(): void {
    for (const peer of this.peers) peer.kill();
  }

  async #arrive(place: Place, number: number): Promise<void> {
    const { origin, createPeer } = this.#parts;
    const { plan } = place;
    await logIn(origin, plan, number);
    const tabs = Array.from({ length: plan.tabs }, () => createPeer(plan.browser));
    place.tabs = tabs;
    this.peers.push(...tabs);
    // In sequence, since the first handshake may set a cookie that the second has to send.
    for (const tab of tabs) await tab.connect();
  }

  async #logOut(browser: Browser, tabs: readonly CometdPeer[]): Promise<void> {
    await logOut(this.#parts.origin, browser);
    for (const tab of tabs) tab.kill();
  }

  async #monitorSome(peer: CometdPeer): Promise<void> {
    const { channel, service } = this.#parts.objects;
    const wanted = new Set<string>();
    while (wanted.size < OBJECTS_OF_A_CLIENT) wanted.add(this.#pick(this.#allObjects));
    const isBold = this.#random() < 0.2;
    const granted = [...wanted].map((object) => peer.monitor(object, channel.includes(object) ? 'channel' : 'service'));
    if ((await Promise.all(granted)).includes(false)) throw new Error('monitoring was refused');
    if (!isBold) return;
    const refused = [await peer.monitor(FORBIDDEN_OBJECT, 'channel'), await peer.monitor(FORBIDDEN_OBJECT, 'service')];
    if (refused.includes(true) || service.length === 0)
      throw new Error('monitoring of the forbidden object was granted');
  }

  /** Calls for some of the clients: one, or a batch of up to three. */
  #planCalls(): [CometdPeer, PlantCall[]][] {
    return Array.from({ length: CALLS_OF_A_ROUND }, () => {
      const count = 1 + Math.floor(this.#random() * 3);
      return [this.#pick(this.peers), Array.from({ length: count }, () => this.#planCall())];
    });
  }

  #planCall(): PlantCall {
    const manner = this.#pick(MANNERS);
    return { ...this.#pick(METHODS), manner, workMs: Math.floor(this.#random() * 30) };
  }

  get #allObjects(): readonly string[] {
    return [...this.#parts.objects.channel, ...this.#parts.objects.service];
  }

  #push(objects: readonly string[]): void {
    const { ledger } = this.#parts.plant;
    const { subscriptions } = ledger.total;
    for (const object of objects) {
      this.#expectedValues += subscriptions[object] ?? 0;
      this.#parts.plant.push(object);
    }
  }

  async #pushAll(): Promise<void> {
    this.#push(this.#allObjects);
    await this.#settle();
  }

  async #settle(): Promise<void> {
    const received = () => this.peers.reduce((sum, { tally }) => sum + tally.valueCount, 0);
    await until(`${this.#expectedValues} values have come`, () => received() >= this.#expectedValues);
  }

  #pick<T>(list: readonly T[]): T {
    const item = list[Math.floor(this.#random() * list.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}
