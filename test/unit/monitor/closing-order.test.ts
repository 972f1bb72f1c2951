import { beforeEach, expect, it } from 'vitest';
import { ClosingOrder } from '../../../src/monitor/closing-order.ts';
import { Random } from '../../support/fuzz/random.ts';

/** Connections are called by address and number, e.g. `a1`. */
let order: ClosingOrder<string>;
beforeEach(() => {
  order = new ClosingOrder();
});

const byArrival = (one: string, other: string) => Number(one.slice(1)) - Number(other.slice(1));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

it('the order of closing ignores unknown connections, and is empty after all have been removed', () => {
  for (const address of ['a', 'b']) for (const number of upTo(30)) order.add(address, `${address}${number}`);
  order.remove('a', 'b1');
  order.remove('d', 'd1');
  expect(order.size).toBe(60);
  for (const number of upTo(30)) {
    for (const address of ['b', 'a']) order.remove(address, `${address}${(number * 7) % 30}`);
  }
  expect([order.size, order.first(), order.firstOf('a')]).toEqual([0, undefined, undefined]);
});

it('connections of the address with the most are closed first if a browser opens fewer, else the oldest of all', () => {
  const open = new Map<string, string[]>();
  const random = new Random(1);
  for (let step = 0; step < 5_000; step++) {
    const address = random.pick([...'abcd']);
    const list = open.get(address) ?? [];
    open.set(address, list);
    if (random.chance(0.52) || list.length === 0) {
      order.add(address, `${address}${step}`);
      list.push(`${address}${step}`);
    } else {
      const [gone = ''] = list.splice(random.below(list.length), 1);
      order.remove(address, gone);
    }
    const most = Math.max(...[...open.values()].map(({ length }) => length));
    const first = order.first() ?? '';
    const ofFirst = open.get(first.charAt(0)) ?? [];
    expect(order.firstOf(address)).toBe(list[0]);
    if (most > 8) expect([ofFirst.length, first]).toEqual([most, ofFirst[0]]);
    else if (most > 0) expect(first).toBe([...open.values()].flat().sort(byArrival)[0]);
  }
});
