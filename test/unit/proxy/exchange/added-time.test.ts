import { beforeEach, expect, it, vi } from 'vitest';
import { createLogger } from '../../../../src/base/logger.ts';
import { AddedTime, ExchangeReporter } from '../../../../src/proxy/exchange/exchange-reporter.ts';

const silent = () => undefined;
let measured: number[];
let added: AddedTime;
const nowNs = vi.fn(() => 1_000);
const clock = { nowNs, epochMs: () => 0 };

beforeEach(() => {
  nowNs.mockClear();
  measured = [];
  added = new AddedTime(clock, (addedNs) => measured.push(addedNs));
});

it('the time added is measured for the first and for one in 17, and the clock is read for these only', () => {
  const samples = Array.from({ length: 1 + 3 * 17 }, () => added.sample(400));
  for (const sinceNs of samples) added.written(sinceNs);
  expect(samples).toEqual(samples.map((_, i) => (i % 17 === 0 ? 400 : 0)));
  expect([measured, nowNs.mock.calls.length]).toEqual([[600, 600, 600, 600], 4]);
});

it('each of 64 places is sampled in its turn', () => {
  const places = new Set<number>();
  for (let i = 0; i < 17 * 64; i += 1) if (added.sample(400) > 0) places.add(i % 64);
  expect(places.size).toBe(64);
});

it('the time added is reported by direction; an observer that throws is only counted', () => {
  const told: unknown[] = [];
  const onAdded = (direction: string, addedNs: number) => {
    told.push(`${direction} ${addedNs}`);
    if (told.length === 2) throw new Error('a secret');
  };
  const reporter = new ExchangeReporter(clock, { onBegin: silent, onEnd: silent, onAdded }, createLogger('silent'));
  const { request, response } = reporter.added;
  request.written(900);
  expect(() => response.written(300)).not.toThrow();
  request.written(999);
  expect(told).toEqual(['request 100', 'response 700', 'request 1']);
  expect(reporter.observerErrors).toBe(1);
});
