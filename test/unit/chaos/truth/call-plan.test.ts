import { expect, it } from 'vitest';
import { planCall } from '../../../chaos/truth/call-plan.ts';

const PLANS = Array.from({ length: 3_000 }, (_, i) => planCall(5, `${i % 3 === 0 ? 'p' : 'r'}${i}`));

it('plans cover every fault, every framing and every moment of leaving within a few thousand calls', () => {
  expect(new Set(PLANS.map(({ fault }) => fault)).size).toBe(13);
  expect(new Set(PLANS.map(({ request }) => request.framing))).toEqual(new Set(['none', 'length', 'chunked']));
  expect(new Set(PLANS.map(({ answer }) => answer.framing))).toEqual(new Set(['none', 'length', 'chunked', 'close']));
  expect(new Set(PLANS.map(({ leave }) => leave?.at)).size).toBe(6);
});

it('no plan aborts calls of which the exact number must be known', () => {
  const exact = PLANS.filter(({ kind }) => kind === 'rpc' || kind === 'object' || kind === 'page');
  expect(exact.length).toBeGreaterThan(500);
  expect(exact.filter(({ leave, halfCloses }) => leave !== undefined || halfCloses)).toEqual([]);
});
