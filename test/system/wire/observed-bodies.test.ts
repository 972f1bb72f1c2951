import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObservedPlane } from '../../support/wire/observed-plane.ts';
import { dataPathCases } from '../data-path.cases.ts';
import { splitCases, splitHandoverCases } from './cases/splits.ts';
import { Comparison, GATEWAY, RELAY } from './comparison.ts';
import { EVERY_SPLIT_LIMIT } from './every-split.ts';
import type { Observation } from './observation.ts';
import { type Compared, expectOrder, expectPayloads } from './observed-cases.ts';
import { type ExchangeSeen, RecordingObserver } from './recording-observer.ts';

/** Of the cases that move much, one that has it all. */
const cases = dataPathCases.filter(({ name, deadlineMs }) => deadlineMs === undefined || name.includes('each way'));

let comparison: Comparison;

beforeAll(async () => {
  comparison = await Comparison.start();
});

afterAll(() => comparison.close());

for (const path of [RELAY, GATEWAY]) {
  describe(`observers of the ${path.name} are told everything once and in order, and no case changes:`, () => {
    const observer = new RecordingObserver();
    const compared: Compared = { requests: 0, responses: 0, tunnels: 0 };
    let plane: ObservedPlane;
    let played = 0;
    beforeAll(async () => {
      const options = { dataPath: path.dataPath, upstreamPort: comparison.upstream.port };
      plane = await ObservedPlane.start(options, observer);
    });
    afterAll(() => plane.close());

    function expectTold(seen: readonly ExchangeSeen[], ends: Observation): void {
      for (const one of seen) expectOrder(one);
      expectPayloads(seen, ends, compared);
    }

    it.each(cases.filter(({ knownDifference }) => knownDifference?.[path.name] === undefined))(
      '$name',
      async (subject) => {
        const ends = await comparison.play(subject, plane.port, path);
        await plane.allClosed();
        expectTold(observer.takeAll(), ends);
        played += 1;
        expect([plane.reporter.observerErrors, plane.reporter.open]).toEqual([0, 0]);
      },
    );

    it('of nearly all cases', () => {
      expect(played).toBeGreaterThan(230);
      expect(compared.requests).toBeGreaterThan(370);
      expect(compared.responses).toBeGreaterThan(340);
      expect(compared.tunnels).toBeGreaterThan(8);
    });

    it.each([...splitCases, ...splitHandoverCases])('in two segments: $name', EVERY_SPLIT_LIMIT, async (subject) => {
      const straight = await comparison.directly(subject);
      const plays = await comparison.playEverySplit(subject, plane.port, path);
      await plane.allClosed();
      const before = { ...compared };
      const { tokens } = observer;
      for (const token of tokens) expectTold(observer.seenOf(token), straight);
      observer.takeAll();
      expect(tokens.length).toBe(plays);
      const exchanges = straight.requests.length * plays;
      expect(compared.requests - before.requests).toBe(exchanges);
      expect(compared.responses - before.responses).toBe(exchanges);
    });
  });
}
