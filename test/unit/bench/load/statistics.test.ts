import { describe, expect, it } from 'vitest';
import { spreadOf, toText } from '../../../bench/load/statistics.ts';

describe('the spread over rounds', () => {
  it('has the middle value as median, whatever the order', () => {
    expect(spreadOf([30, 1, 20])).toEqual({ median: 20, min: 1, max: 30, count: 3 });
  });

  it('takes the mean of the middle two of an even count', () => {
    expect(spreadOf([10, 1, 2, 4])).toEqual({ median: 3, min: 1, max: 10, count: 4 });
  });

  it('sorts by number, not by text', () => {
    expect(spreadOf([9, 10, 100])?.median).toBe(10);
  });

  it('is undefined without values', () => {
    expect(spreadOf([])).toBeUndefined();
  });

  it('is written with lowest and highest in brackets, but a single value alone', () => {
    expect(toText({ median: 35.14, min: 34, max: 36.25, count: 7 }, 1)).toBe('35.1 (34.0–36.3)');
    expect(toText({ median: 35.14, min: 35.14, max: 35.14, count: 1 }, 0)).toBe('35');
  });
});
