import { expect, it } from 'vitest';
import { RecentTokens } from '../../../../src/measure/sessions/recent-tokens.ts';

function createCounting(): { readonly computed: () => number; readonly tokens: RecentTokens } {
  let computed = 0;
  const tokens = new RecentTokens((authorization) => {
    computed += 1;
    return `token of ${authorization}`;
  });
  return { computed: () => computed, tokens };
}

it('recent tokens give the token of the value, whatever was asked before', () => {
  const { tokens } = createCounting();
  for (const value of ['Basic a', 'Basic a', 'Basic b', 'Basic A', '', 'Basic a']) {
    expect(tokens.tokenOf(value)).toBe(`token of ${value}`);
  }
});

it('recent tokens compute the token of a value in steady use once, among thousands of others', () => {
  const { computed, tokens } = createCounting();
  for (let i = 0; i < 40_000; i += 1) {
    tokens.tokenOf('Basic anna');
    tokens.tokenOf(`Basic user${i}`);
  }
  expect(computed()).toBe(40_001);
});

it('recent tokens forget a value that was not sent for long', () => {
  const { computed, tokens } = createCounting();
  tokens.tokenOf('Basic anna');
  for (let i = 0; i < 40_000; i += 1) tokens.tokenOf(`Basic user${i}`);
  tokens.tokenOf('Basic anna');
  expect(computed()).toBe(40_002);
});

it('recent tokens distinguish values whose fingerprints share a slot of the table', () => {
  const { tokens } = createCounting();
  // About three such pairs occur: each new value meets up to 32,768 others, in 2^30 slots.
  for (let i = 0; i < 100_000; i += 1) {
    const value = `Basic user${i}`;
    if (tokens.tokenOf(value) !== `token of ${value}`) expect.fail(`user${i} got another's token`);
  }
});
