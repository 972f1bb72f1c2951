import { expect, it } from 'vitest';
import { FLOODS } from '../../abuse/floods/all-floods.ts';
import { parseOptions } from '../../abuse/options.ts';

it('all floods are taken once by default', () => {
  expect(parseOptions([])).toMatchObject({ floods: FLOODS, isShort: false, retries: 0 });
});

it('the named floods are taken, in that order', () => {
  const { floods } = parseOptions(['--flood', 'churn,gzip-bomb', '--flood', 'half-open']);
  expect(floods.map(({ name }) => name)).toEqual(['churn', 'gzip-bomb', 'half-open']);
});

it('a failed flood is retried in the short form', () => {
  expect(parseOptions(['--short'])).toMatchObject({ isShort: true, retries: 1 });
  expect(parseOptions(['--short', '--retries', '0']).retries).toBe(0);
});

it.each([['--flood', 'none'], ['--retries', 'x'], ['--unknown']])('%s %s is refused', (...args) => {
  expect(() => parseOptions(args)).toThrow();
});

it('floods have distinct names', () => {
  expect(new Set(FLOODS.map(({ name }) => name)).size).toBe(FLOODS.length);
});
