import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Exchange } from '../../../src/proxy/exchange/exchange.ts';
import { someOf } from '../../support/effort.ts';
import { ObservedPlane } from '../../support/wire/observed-plane.ts';
import { dataPathCases } from '../data-path.cases.ts';
import { splitCases } from './cases/splits.ts';
import { Comparison, EXACT_RELAY, GATEWAY } from './comparison.ts';
import { MOMENTS, type Moment, RecordingObserver } from './recording-observer.ts';
import type { DataPathCase } from './run-case.ts';

/** Cases that measure a stillness cannot be played beside others; they are once more alone, with what fails at each chunk. */
const isQuick = ({ deadlineMs }: DataPathCase) => deadlineMs === undefined;
const quick = [...someOf(dataPathCases.filter(isQuick), 5), ...splitCases];
const slow = dataPathCases.filter((subject) => !isQuick(subject));

/** Throws at one kind of moment, and takes down what it is told of an exchange afterwards. */
class FailingObserver extends RecordingObserver {
  thrown = 0;
  readonly toldAfterwards: string[] = [];

  constructor(failing: Moment) {
    const failed = new Set<Exchange>();
    // Always told: the ending, and of a tunnel that it is over. And the tunnel is another matter than what came before it.
    const isStillTold = (moment: Moment) =>
      failing === 'end' || moment === (failing === 'clientBytes' || failing === 'upstreamBytes' ? 'closed' : 'end');
    super((moment, exchange) => {
      if (failed.has(exchange) && !isStillTold(moment)) this.toldAfterwards.push(`${moment} after ${failing}`);
      if (moment !== failing) return;
      failed.add(exchange);
      this.thrown += 1;
      throw new TypeError('secret of a request');
    });
  }
}

let comparison: Comparison;

beforeAll(async () => {
  comparison = await Comparison.start();
});

afterAll(() => comparison.close());

for (const path of [EXACT_RELAY, GATEWAY]) {
  async function playAll(failing: Moment, subjects: readonly DataPathCase[], atOnce = 8): Promise<void> {
    const observer = new FailingObserver(failing);
    const options = { dataPath: path.dataPath, upstreamPort: comparison.upstream.port, forwarded: 'off' } as const;
    const plane = await ObservedPlane.start(options, observer);
    try {
      await comparison.playAll(subjects, plane.port, path, { atOnce });
      await plane.allClosed();
    } finally {
      plane.close();
    }
    expect(observer.thrown).toBeGreaterThan(0);
    expect(plane.reporter.observerErrors).toBe(observer.thrown);
    expect(plane.errorsLogged).toEqual([{ error: 'TypeError' }]);
    expect(plane.reporter.open).toBe(0);
    expect(new Set(observer.toldAfterwards)).toEqual(new Set());
  }

  describe(`an observer of the ${path.name} that throws`, () => {
    it.each(Object.keys(MOMENTS) as Moment[])('at %s changes no case', (moment) => playAll(moment, quick));

    it.each(['requestBytes', 'responseBytes'] as const)(
      'at %s changes no large body and no back pressure',
      (moment) => playAll(moment, slow, 1),
      60_000,
    );
  });
}
