import { expect, it } from 'vitest';
import { roundTo4Digits } from '../../../../src/monitor/live/live-document.ts';

it('durations for the live page have four digits', () => {
  expect([0.000123456, 1.23456, 3_600].map(roundTo4Digits)).toEqual([0.0001235, 1.235, 3_600]);
});
