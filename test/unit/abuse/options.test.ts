import { describe, expect, it } from 'vitest';
import { FLOODS } from '../../abuse/floods/all-floods.ts';
import { parseOptions } from '../../abuse/options.ts';

describe('parseOptions', () => {
  it('takes all floods once by default', () => {
    const { floods, isShort, retries } = parseOptions([]);
    expect(floods).toEqual(FLOODS);
    expect(isShort).toBe(false);
    expect(retries).toBe(0);
  });

  it('takes the named floods, in that order', () => {
    const { floods } = parseOptions(['--flood', 'churn,gzip-bomb', '--flood', 'half-open']);
    expect(floods.map(({ name }) => name)).toEqual(['churn', 'gzip-bomb', 'half-open']);
  });

  it('retries a failed flood in the short form', () => {
    expect(parseOptions(['--short'])).toMatchObject({ isShort: true, retries: 1 });
    expect(parseOptions(['--short', '--retries', '0']).retries).toBe(0);
  });

  it.each([['--flood', 'none'], ['--retries', 'x'], ['--unknown']])('refuses %s %s', (...args) => {
    expect(() => parseOptions(args)).toThrow();
  });
});

describe('FLOODS', () => {
  it('have distinct names', () => {
    expect(new Set(FLOODS.map(({ name }) => name)).size).toBe(FLOODS.length);
  });
});
