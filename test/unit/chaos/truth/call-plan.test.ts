import { describe, expect, it } from 'vitest';
import { planCall } from '../../../chaos/truth/call-plan.ts';

const IDS = Array.from({ length: 3_000 }, (_, i) => `${i % 3 === 0 ? 'p' : 'r'}${i}`);
const PLANS = IDS.map((id) => planCall(5, id));

describe('the plan of a call', () => {
  it('covers every fault, every framing and every moment of leaving within a few thousand calls', () => {
    expect(new Set(PLANS.map(({ fault }) => fault)).size).toBe(13);
    expect(new Set(PLANS.map(({ request }) => request.framing))).toEqual(new Set(['none', 'length', 'chunked']));
    expect(new Set(PLANS.map(({ answer }) => answer.framing))).toEqual(new Set(['none', 'length', 'chunked', 'close']));
    expect(new Set(PLANS.map(({ leave }) => leave?.at)).size).toBe(6);
  });

  it('never aborts calls of which the exact number must be known', () => {
    const exact = PLANS.filter(({ kind }) => kind === 'rpc' || kind === 'object' || kind === 'page');
    expect(exact.length).toBeGreaterThan(500);
    expect(exact.filter(({ leave, halfCloses }) => leave !== undefined || halfCloses)).toEqual([]);
  });

  it('has neither faults nor clients that leave in calm', () => {
    const calm = Array.from({ length: 500 }, (_, i) => planCall(5, `${i % 2 === 0 ? 'q' : 'o'}${i}`));
    expect(calm.filter(({ fault, leave }) => fault !== undefined || leave !== undefined)).toEqual([]);
  });
});
