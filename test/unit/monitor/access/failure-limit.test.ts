import { beforeEach, expect, it } from 'vitest';
import { FailureLimit } from '../../../../src/monitor/access/access-control.ts';
import { ManualClock } from '../../../support/clock.ts';

let clock: ManualClock;
let limit: FailureLimit;
beforeEach(() => {
  clock = new ManualClock();
  limit = new FailureLimit(clock);
});

it('the limit on failures allows an address ten failures, then one every six seconds, and no longer a wait for further failures', () => {
  for (let count = 0; count < 10; count++) {
    expect(limit.retryAfterS('a')).toBe(0);
    limit.add('a');
  }
  expect(limit.retryAfterS('a')).toBe(6);
  expect(limit.retryAfterS('b')).toBe(0);
  clock.advanceS(5.5);
  expect(limit.retryAfterS('a')).toBe(1);
  clock.advanceS(0.5);
  expect(limit.retryAfterS('a')).toBe(0);
  limit.add('a');
  expect(limit.retryAfterS('a')).toBe(6);
  for (let count = 0; count < 1_000; count++) limit.add('a');
  clock.advanceS(60);
  for (let count = 0; count < 10; count++) {
    expect(limit.retryAfterS('a')).toBe(0);
    limit.add('a');
  }
});

it('the limit on failures remembers a bounded number of addresses, and evicts the one that failed longest ago', () => {
  for (let count = 0; count < 10; count++) {
    limit.add('first');
    limit.add('second');
  }
  for (let index = 0; index < 9_998; index++) limit.add(`a${index}`);
  limit.add('first');
  expect(limit.evicted).toBe(0);
  limit.add('one more');
  expect(limit.evicted).toBe(1);
  expect([limit.retryAfterS('first'), limit.retryAfterS('second')]).toEqual([6, 0]);
});
