import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObservedPlane } from '../../support/wire/observed-plane.ts';
import { dataPathCases } from '../data-path.cases.ts';
import { splitCases, splitHandoverCases } from './cases/splits.ts';
import type { DataPathCase } from './data-path-case.ts';
import { EVERY_SPLIT_LIMIT, playEverySplit } from './every-split.ts';
import { type Exactness, toComparable } from './observation.ts';
import { type Compared, expectFacts, expectOrder, expectPayloads } from './observed-cases.ts';
import { RecordingObserver } from './recording-observer.ts';
import { CaseRunner } from './run-case.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

/** Of the cases that move much, one that has it all. */
const cases = dataPathCases.filter(({ name, deadlineMs }) => deadlineMs === undefined || name.includes('each way'));

const paths: readonly { readonly name: 'relay' | 'gateway'; readonly exactness: Exactness }[] = [
  { name: 'relay', exactness: 'fields' },
  { name: 'gateway', exactness: 'meaning' },
];

let upstream: ScriptedUpstream;
let runner: CaseRunner;

beforeAll(async () => {
  upstream = await ScriptedUpstream.listen();
  runner = new CaseRunner(upstream);
});

afterAll(() => upstream.close());

for (const path of paths) {
  describe(`observers of the ${path.name} are told everything once and in order, and no case changes:`, () => {
    const observer = new RecordingObserver();
    const compared: Compared = { requests: 0, responses: 0, tunnels: 0 };
    let plane: ObservedPlane;
    let played = 0;
    beforeAll(async () => {
      const dataPath = path.name === 'relay' ? 'auto' : 'gateway';
      plane = await ObservedPlane.start({ dataPath, upstreamPort: upstream.port }, observer);
    });
    afterAll(() => plane.close());

    const exactnessOf = (subject: DataPathCase) => (subject.isIrregular === true ? 'meaning' : path.exactness);

    for (const subject of cases.filter(({ knownDifference }) => knownDifference?.[path.name] === undefined)) {
      it(subject.name, async () => {
        const ends = await runner.run(subject, plane.port);
        await plane.allClosed();
        if (subject.sidecarOnly === undefined) {
          const straight = await runner.run(subject, upstream.port);
          const exactness = exactnessOf(subject);
          expect(toComparable(ends, straight, exactness)).toEqual(toComparable(straight, straight, exactness));
        }
        expectFacts(subject, ends);
        const seen = observer.takeAll();
        for (const one of seen) expectOrder(one);
        expectPayloads(seen, ends, compared);
        played += 1;
        expect(plane.reporter.observerErrors).toBe(0);
        expect(plane.reporter.open).toBe(0);
      });
    }

    it('of nearly all cases', () => {
      expect(played).toBeGreaterThan(230);
      expect(compared.requests).toBeGreaterThan(370);
      expect(compared.responses).toBeGreaterThan(340);
      expect(compared.tunnels).toBeGreaterThan(8);
    });

    for (const subject of [...splitCases, ...splitHandoverCases]) {
      it(`in two segments: ${subject.name}`, EVERY_SPLIT_LIMIT, async () => {
        const straight = await runner.run(subject, upstream.port);
        const exactness = exactnessOf(subject);
        const plays = await playEverySplit(subject, runner, plane.port, straight, (ends) =>
          expect(toComparable(ends, straight, exactness)).toEqual(toComparable(straight, straight, exactness)),
        );
        await plane.allClosed();
        const before = { ...compared };
        const { tokens } = observer;
        for (const token of tokens) {
          const seen = observer.seenOf(token);
          for (const one of seen) expectOrder(one);
          expectPayloads(seen, straight, compared);
        }
        observer.takeAll();
        expect(tokens.length).toBe(plays);
        const exchanges = straight.requests.length * plays;
        expect([compared.requests - before.requests, compared.responses - before.responses]).toEqual([
          exchanges,
          exchanges,
        ]);
      });
    }
  });
}
