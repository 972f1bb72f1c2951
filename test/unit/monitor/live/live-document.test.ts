import { expect, it } from 'vitest';
import { toShort } from '../../../../src/monitor/live/live-document.ts';

it('durations for the live page have four digits, and null without calls', () => {
  expect([0.000123456, 1.23456, 3_600].map((seconds) => toShort(seconds))).toEqual([0.0001235, 1.235, 3_600]);
  expect(toShort(null)).toBeNull();
});
