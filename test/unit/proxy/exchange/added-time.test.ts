import { describe, expect, it } from 'vitest';
import { AddedTime } from '../../../../src/proxy/exchange/added-time.ts';
import { ExchangeReporter } from '../../../../src/proxy/exchange/exchange-reporter.ts';

const silent = () => undefined;

function setUp() {
  let reads = 0;
  const clock = {
    nowNs: () => {
      reads += 1;
      return 1_000;
    },
    epochMs: () => 0,
  };
  const measured: number[] = [];
  const added = new AddedTime(clock, (addedNs) => measured.push(addedNs));
  return { added, measured, clock, reads: () => reads };
}

describe('the time added', () => {
  it('is measured for the first and for one in 17, and the clock is read for these only', () => {
    const { added, measured, reads } = setUp();
    const samples = Array.from({ length: 1 + 3 * 17 }, () => added.sample(400));
    for (const sinceNs of samples) added.written(sinceNs);
    expect(samples.flatMap((sinceNs, i) => (sinceNs === 400 ? [i] : []))).toEqual([0, 17, 34, 51]);
    expect(samples.filter((sinceNs) => sinceNs === 0)).toHaveLength(samples.length - 4);
    expect(measured).toEqual([600, 600, 600, 600]);
    expect(reads()).toBe(4);
  });

  it('samples each of 64 places in a turn', () => {
    const { added } = setUp();
    const places = new Set<number>();
    for (let i = 0; i < 17 * 64; i += 1) if (added.sample(400) > 0) places.add(i % 64);
    expect(places.size).toBe(64);
  });

  it('is reported by direction; an observer that throws is only counted', () => {
    const told: unknown[] = [];
    const observer = {
      onBegin: silent,
      onEnd: silent,
      onAdded: (direction: string, addedNs: number) => {
        told.push([direction, addedNs]);
        if (told.length === 2) throw new Error('a secret');
      },
    };
    const logger = { debug: silent, info: silent, warn: silent, error: silent };
    const { clock } = setUp();
    const reporter = new ExchangeReporter(clock, observer, logger);
    const { added } = reporter;
    added.request.written(900);
    expect(() => added.response.written(300)).not.toThrow();
    added.request.written(999);
    expect(told).toEqual([
      ['request', 100],
      ['response', 700],
      ['request', 1],
    ]);
    expect(reporter.observerErrors).toBe(1);
  });
});
