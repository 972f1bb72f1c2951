import { beforeEach, describe, expect, it } from 'vitest';
import { ClosingOrder } from '../../../src/monitor/closing-order.ts';
import { Random } from '../../support/fuzz/random.ts';

/** Connections are called by address and number, e.g. `a1`. */
class Stand {
  readonly order = new ClosingOrder<string>();

  add(address: string, ...numbers: readonly number[]): void {
    for (const number of numbers) this.order.add(address, `${address}${number}`);
  }

  /** Closes that many. */
  close(count: number): (string | undefined)[] {
    return Array.from({ length: count }, () => {
      const first = this.order.first();
      if (first !== undefined) this.order.remove(first.replace(/\d+$/, ''), first);
      return first;
    });
  }
}

let stand: Stand;
beforeEach(() => {
  stand = new Stand();
});

const byArrival = (one: string, other: string) => Number(one.slice(1)) - Number(other.slice(1));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('the order in which connections are closed', () => {
  it('is the order of arrival if no address has more than a browser opens', () => {
    stand.add('a', 1);
    stand.add('b', 1, 2);
    stand.add('c', ...upTo(6));
    stand.add('a', 2);
    expect(stand.close(5)).toEqual(['a1', 'b1', 'b2', 'c0', 'c1']);
  });

  it('begins with the oldest of the address with the most, until others have as many', () => {
    stand.add('old', 1);
    stand.add('some', ...upTo(10));
    stand.add('most', ...upTo(12));
    stand.add('new', 1);
    expect(stand.close(2)).toEqual(['most0', 'most1']);
    expect(stand.close(4).sort()).toEqual(['most2', 'most3', 'some0', 'some1']);
    expect(stand.close(3)).toEqual(['old1', 'some2', 'some3']);
  });

  it('begins with the oldest one for a single address', () => {
    stand.add('a', 1, 2);
    stand.add('b', 1);
    expect(['a', 'b', 'c'].map((address) => stand.order.firstOf(address))).toEqual(['a1', 'b1', undefined]);
  });

  it('is empty after all have been removed in any order, and ignores unknown ones', () => {
    for (const address of ['a', 'b', 'c']) stand.add(address, ...upTo(30));
    stand.order.remove('a', 'b1');
    stand.order.remove('d', 'd1');
    expect(stand.order.size).toBe(90);
    for (const number of upTo(30)) {
      for (const address of ['c', 'a', 'b']) stand.order.remove(address, `${address}${(number * 7) % 30}`);
    }
    expect([stand.order.size, stand.order.first(), stand.order.firstOf('a')]).toEqual([0, undefined, undefined]);
    stand.add('a', 1);
    expect(stand.order.first()).toBe('a1');
  });

  it('agrees with a simple model', () => {
    const open = new Map<string, string[]>();
    const random = new Random(1);
    for (let step = 0; step < 5_000; step++) {
      const address = random.pick([...'abcd']);
      const list = open.get(address) ?? [];
      open.set(address, list);
      if (random.chance(0.52) || list.length === 0) {
        stand.add(address, step);
        list.push(`${address}${step}`);
      } else {
        const [gone = ''] = list.splice(random.below(list.length), 1);
        stand.order.remove(address, gone);
      }
      const most = Math.max(...[...open.values()].map(({ length }) => length));
      const first = stand.order.first() ?? '';
      const ofFirst = open.get(first.charAt(0)) ?? [];
      if (most > 8) expect([ofFirst.length, first]).toEqual([most, ofFirst[0]]);
      else if (most > 0) expect(first).toBe([...open.values()].flat().sort(byArrival)[0]);
    }
  });
});
