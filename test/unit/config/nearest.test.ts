import { expect, it } from 'vitest';
import { nearest } from '../../../src/config/nearest.ts';

it.each([
  ['upstrem', 'upstream'],
  ['Listen', 'listen'],
  ['lsiten', 'listen'],
  ['conectTimout', 'connectTimeout'],
  ['prot', 'port'],
  ...['database', 'x', '', 'p'.repeat(5_000)].map((text): [string, undefined] => [text, undefined]),
])('nearest takes %j for %s', (text, expected) => {
  expect(nearest(text, ['listen', 'upstream', 'connectTimeout', 'port'])).toBe(expected);
});
