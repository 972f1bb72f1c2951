import { expect, it } from 'vitest';
import { encodeDuration, parseDurationMs } from '../../../src/config/duration.ts';

const toRefused = (written: string | number): [string | number, undefined] => [written, undefined];

it.each<[string | number, number | undefined]>([
  ['500ms', 500],
  ['30s', 30_000],
  ['5m', 300_000],
  ['1h', 3_600_000],
  ['5d', 432_000_000],
  ['1.5s', 1_500],
  ['45', 45_000],
  [0.25, 250],
  [0, 0],
  ...['', 's', '5 s', '5S', '-5s', '5w', '1m30s', '.5s', '1e3', -1, Number.NaN].map(toRefused),
])('parseDurationMs reads %s as %s ms', (written, ms) => {
  expect(parseDurationMs(written)).toBe(ms);
});

it.each([
  [0, 0],
  [1, '1ms'],
  [1_500, '1500ms'],
  [90_000, '90s'],
  [60_000, '1m'],
  [7_200_000, '2h'],
  [86_400_000, '1d'],
])('encodeDuration writes %d ms as %s, which reads back as the same', (ms, text) => {
  expect(encodeDuration(ms)).toBe(text);
  expect(parseDurationMs(text)).toBe(ms);
});
