import { expect, it } from 'vitest';
import { FLOODS } from '../../abuse/floods/all-floods.ts';
import { parseOptions } from '../../abuse/options.ts';

const namesOf = (...args: readonly string[]) => parseOptions(args).floods.map(({ name }) => name);

it('all floods run by default, each under a name of its own', () => {
  expect(new Set(namesOf()).size).toBe(FLOODS.length);
  expect(parseOptions([])).toMatchObject({ isShort: false, isList: false });
});

it('the named floods run, and the short form is a flag', () => {
  expect(namesOf('--short', '--flood', 'churn,gzip-bomb')).toEqual(['gzip-bomb', 'churn']);
  expect(parseOptions(['--short'])).toMatchObject({ floods: FLOODS, isShort: true });
});

it.each([['--flood', 'none'], ['--unknown'], ['--retries', '1']])('%s %s is refused', (...args) => {
  expect(() => parseOptions(args)).toThrow();
});
