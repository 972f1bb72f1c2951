/** A plant, the sidecar before it, and the scenario: the cases that clients of every transport run. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CometSidecar, startCometSidecar } from '../../support/comet/comet-sidecar.ts';
import { CometdPeer, type CometdPeerOptions } from '../../support/comet/cometd-peer.ts';
import type { Plant } from '../../support/comet/plant.ts';
import { Scenario, type ScenarioParts } from './scenario.ts';
import { StatisticsReader, toLogins, toStatistics } from './statistics.ts';

export interface Comparison<P extends Plant = Plant> {
  readonly startPlant: () => Promise<P>;
  /** The options of the next client. */
  readonly nextClient: () => CometdPeerOptions;
  readonly objects: ScenarioParts['objects'];
  readonly connectionType: 'COMET_LONG_POLLING' | 'COMET_WEBSOCKET';
  readonly dataPath?: 'auto' | 'gateway';
  /** Checks the agreed counts, once all are connected. */
  readonly onArrival?: (plant: P) => void;
}

/** The sidecar's counts may lag a little. */
const SOON = { timeout: 6_000, interval: 50 };
/** Clients that left without a disconnect are gone only after `sessions.cometGone`. */
const LATER = { timeout: 12_000, interval: 100 };
const STAGE_TIMEOUT_MS = 60_000;

/** The stages build on each other; traffic and counts are asserted separately, so that either can fail alone. */
export function compare<P extends Plant>(name: string, comparison: Comparison<P>): void {
  const { startPlant, nextClient, objects, connectionType, dataPath = 'auto', onArrival } = comparison;
  describe(`${name}, dataPath ${dataPath}`, { timeout: STAGE_TIMEOUT_MS }, () => {
    let plant: P;
    let sidecar: CometSidecar;
    let scenario: Scenario;
    let reader: StatisticsReader;
    beforeAll(async () => {
      plant = await startPlant();
      sidecar = await startCometSidecar(plant.port, { dataPath });
      const { origin, process } = sidecar;
      scenario = new Scenario({
        plant,
        origin,
        objects,
        createPeer: (one) => new CometdPeer(origin, one, nextClient()),
      });
      reader = new StatisticsReader(process.monitor);
    });
    afterAll(async () => {
      scenario.killAll();
      await sidecar.close();
      await plant.close();
    });

    const stage = (what: string, run: () => Promise<void>) =>
      it(what, async () => {
        await run();
        expect(scenario.counted).toEqual(plant.ledger.total);
      });
    const agrees = async (wait = SOON) => {
      const { ledger } = plant;
      await expect.poll(() => reader.statistics(), wait).toEqual(toStatistics(ledger.total));
      await expect.poll(() => reader.logins(), wait).toEqual(toLogins(ledger.logins(), connectionType));
      expect(await reader.created()).toEqual([ledger.created, ledger.logins().length]);
    };

    stage('all log in and connect', async () => {
      await scenario.arrive();
      onArrival?.(plant);
    });
    it('each login is a session of its own, tabs share it', () => agrees());

    stage('they monitor objects, get values, and call', async () => {
      await scenario.work();
      const { values, calls } = scenario.counted;
      expect([Object.keys(values).length > 20, Object.keys(calls).length]).toEqual([true, 6]);
    });
    it('subscriptions, values and calls are counted, by name and by session', () => agrees());
    it('the values are all there by object and in the union', async () => {
      const { subscriptions, values } = plant.ledger.total;
      for (const [object, count] of Object.entries(values).slice(0, 5)) {
        expect([object, await reader.object(object)]).toEqual([object, [subscriptions[object] ?? 0, count]]);
      }
      const [session] = await reader.sessions();
      for (const { union, parts } of [await reader.namesOfUnion(), await reader.namesOfUnion(session?.id)]) {
        expect(union).toEqual(parts);
      }
    });

    stage('connections break and resume, and clients that the server forgot come back as new', () =>
      scenario.comeBack(),
    );
    it('who comes back is counted once', () => agrees());

    stage('some leave: killed, logged out, disconnected', () => scenario.leave());
    it('what they monitored is given back, and the sessions of the others go on', () => agrees(LATER));

    stage('all others leave', () => scenario.leaveAll());
    it('nothing is left of anybody', async () => {
      await agrees(LATER);
      const { totals, counts } = await reader.statistics();
      expect([totals.monitored, totals.subscriptions, counts.subscriptions]).toEqual([0, 0, {}]);
      expect(await reader.sessions()).toEqual([]);
    });
  });
}
