/** A plant, the scenario on it, and, except for the direct way, the sidecar between: the cases that every peer runs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CometSidecar, startCometSidecar, type WrittenConfig } from '../../support/comet/comet-sidecar.ts';
import type { Browser, Peer } from '../../support/comet/peer.ts';
import type { Plant } from '../../support/comet/plant.ts';
import { Scenario, type ScenarioParts } from './scenario.ts';
import { StatisticsReader, toLogins, toStatistics } from './statistics.ts';

/** `direct`: without a sidecar, which shows that the peers agree with each other. */
export type Way = 'direct' | 'auto' | 'gateway';

export interface Comparison<P extends Plant = Plant> {
  readonly startPlant: () => Promise<P>;
  readonly createPeer: (origin: string, browser: Browser) => Peer;
  readonly objects: ScenarioParts['objects'];
  readonly connectionType: 'COMET_LONG_POLLING' | 'COMET_WEBSOCKET';
  readonly ways: readonly Way[];
  /** Checks the agreed counts, once all are connected. */
  readonly onArrival?: (plant: P) => void;
}

/** The sidecar's counts may lag a little. */
const SOON = { timeout: 6_000, interval: 50 };
/** Clients that left without a disconnect are gone only after `sessions.cometGone`. */
const LATER = { timeout: 12_000, interval: 100 };
const STAGE_TIMEOUT_MS = 60_000;

interface Running<P extends Plant> {
  readonly plant: P;
  readonly sidecar: CometSidecar | undefined;
  readonly scenario: Scenario;
  readonly reader: StatisticsReader;
}

export function compare<P extends Plant>(name: string, comparison: Comparison<P>): void {
  describe.each(comparison.ways)(`${name}, %s`, (way) => {
    let running: Running<P>;
    beforeAll(async () => {
      running = await start(comparison, way);
    });
    afterAll(async () => {
      running.scenario.killAll();
      await running.sidecar?.close();
      await running.plant.close();
    });
    describeStages(() => running, comparison, way !== 'direct');
  });
}

async function start<P extends Plant>(
  { startPlant, createPeer, objects }: Comparison<P>,
  way: Way,
): Promise<Running<P>> {
  const plant = await startPlant();
  const config: WrittenConfig = { dataPath: way };
  const sidecar = way === 'direct' ? undefined : await startCometSidecar(plant.port, config);
  const origin = sidecar?.origin ?? `http://127.0.0.1:${plant.port}`;
  const scenario = new Scenario({ plant, origin, objects, createPeer: (browser) => createPeer(origin, browser) });
  return { plant, sidecar, scenario, reader: new StatisticsReader(sidecar?.process.monitor ?? 'none') };
}

/** The stages build on each other; traffic and counts are asserted separately, so that either can fail alone. */
function describeStages<P extends Plant>(
  running: () => Running<P>,
  { connectionType, onArrival }: Comparison<P>,
  hasSidecar: boolean,
): void {
  const stage = (name: string, run: (scenario: Scenario) => Promise<void>) =>
    it(name, { timeout: STAGE_TIMEOUT_MS }, async () => {
      const { scenario, plant } = running();
      await run(scenario);
      expect(scenario.counted).toEqual(plant.ledger.total);
    });
  const counted = (name: string, check: (running: Running<P>) => Promise<void>) =>
    it.runIf(hasSidecar)(name, { timeout: STAGE_TIMEOUT_MS }, () => check(running()));
  const agrees = async ({ plant: { ledger }, reader }: Running<P>, wait = SOON) => {
    await expect.poll(() => reader.statistics(), wait).toEqual(toStatistics(ledger.total));
    await expect.poll(() => reader.logins(), wait).toEqual(toLogins(ledger.logins(), connectionType));
    expect(await reader.created()).toEqual([ledger.created, ledger.logins().length]);
  };

  stage('all log in and connect', async (scenario) => {
    await scenario.arrive();
    onArrival?.(running().plant);
  });
  counted('each login is a session of its own, tabs share it', agrees);

  stage('they monitor objects, get values, and call', async (scenario) => {
    await scenario.work();
    const { values, calls } = scenario.counted;
    expect([Object.keys(values).length > 20, Object.keys(calls).length]).toEqual([true, 6]);
  });
  counted('subscriptions, values and calls are counted, by name and by session', agrees);
  counted('the values are all there by object and in the union', async ({ plant, reader }) => {
    const { subscriptions, values } = plant.ledger.total;
    for (const [object, count] of Object.entries(values).slice(0, 5)) {
      expect([object, await reader.object(object)]).toEqual([object, [subscriptions[object] ?? 0, count]]);
    }
    const [session] = await reader.sessions();
    for (const { union, parts } of [await reader.namesOfUnion(), await reader.namesOfUnion(session?.id)]) {
      expect(union).toEqual(parts);
    }
  });

  stage('connections break and resume, and clients that the server forgot come back as new', (scenario) =>
    scenario.comeBack(),
  );
  counted('who comes back is counted once', agrees);

  stage('some leave: killed, logged out, disconnected', (scenario) => scenario.leave());
  counted('what they monitored is given back, and the sessions of the others go on', (state) => agrees(state, LATER));

  stage('all others leave', (scenario) => scenario.leaveAll());
  counted('nothing is left of anybody', async (state) => {
    await agrees(state, LATER);
    const { totals, counts } = await state.reader.statistics();
    expect([totals.monitored, totals.subscriptions, counts.subscriptions]).toEqual([0, 0, {}]);
    expect(await state.reader.sessions()).toEqual([]);
  });
}
