import { expect, it } from 'vitest';
import { nearest } from '../../../src/config/nearest.ts';

it.each([
  ['upstrem', 'upstream'],
  ['Listen', 'listen'],
  ['lsiten', 'listen'],
  ['conectTimout', 'connectTimeout'],
  ['prot', 'port'],
])('nearest takes %s for %s', (text, expected) => {
  expect(nearest(text, ['listen', 'upstream', 'connectTimeout', 'port'])).toBe(expected);
});

it.each(['database', 'x', '', 'p'.repeat(5_000)])('nearest takes %j for none', (text) => {
  expect(nearest(text, ['listen', 'upstream', 'port'])).toBeUndefined();
});
