import { expect, it } from 'vitest';
import { Section as LosingSection } from '../../../../src/metrics/metric-set.ts';
import { NameOrder } from '../../../../src/monitor/dropwizard/name-order.ts';

const STEP = 500;

/** A section that counts how many of its names were read. */
class Section extends Map<string, number> {
  looked = 0;

  override *keys(): ReturnType<Map<string, number>['keys']> {
    for (const name of super.keys()) {
      this.looked += 1;
      yield name;
    }
  }
}

/** Adds names in no order. */
function add(section: Section, from: number, to: number): Section {
  for (let i = from; i < to; i += 1) section.set(`object.H.${(i * 7_919) % 100_003}`, i);
  return section;
}

const sectionOf = (count: number) => add(new Section(), 0, count);

/** The order, and how many steps it took. */
function sorted(order: NameOrder, section: Section): { readonly names: readonly string[]; readonly steps: number } {
  const work = order.sorted(section);
  let steps = 0;
  for (let next = work.next(); ; next = work.next()) {
    if (next.done === true) return { names: next.value, steps };
    expect(next.value).toBe('');
    steps += 1;
  }
}

const expected = (section: Section): string[] => [...section.keys()].sort();

it.each([0, 1, 499, 500, 501, 1_001, 10_000])('NameOrder sorts %i names by their UTF-16 code units', (count) => {
  const section = sectionOf(count);
  for (const odd of ['', 'Z', 'a', 'ä', '\uffff', '😀', '7', '10', '__proto__']) section.set(odd, 0);
  expect(sorted(new NameOrder(), section).names).toEqual(expected(section));
});

it('NameOrder reads at most 500 names in a step', () => {
  const section = sectionOf(10_000);
  const work = new NameOrder().sorted(section);
  let before = 0;
  while (work.next().done !== true) {
    expect(section.looked - before).toBeLessThanOrEqual(STEP);
    before = section.looked;
  }
  expect(section.looked).toBe(10_000);
});

it('NameOrder keeps the order of a section that has not changed', () => {
  const order = new NameOrder();
  const section = sectionOf(10_000);
  const first = sorted(order, section);
  section.looked = 0;
  const again = sorted(order, section);
  expect(again.names).toBe(first.names);
  expect(section.looked).toBe(0);
  expect(again.steps).toBe(0);
});

it.each([1, 499, 3_000])('NameOrder adds %i new names to a cached order', (more) => {
  const order = new NameOrder();
  const section = sectionOf(5_000);
  sorted(order, section);
  add(section, 5_000, 5_000 + more);
  expect(sorted(order, section).names).toEqual(expected(section));
});

it('NameOrder does not mix the names of two sections', () => {
  const order = new NameOrder();
  const [one, other] = [sectionOf(2_000), sectionOf(2_000)];
  sorted(order, one);
  other.delete('object.H.0');
  other.set('another', 1);
  expect(sorted(order, other).names).toEqual(expected(other));
  expect(sorted(order, one).names).toEqual(expected(one));
});

it('NameOrder loses no name that is added while one or two answers sort', () => {
  const order = new NameOrder();
  const section = sectionOf(3_000);
  const works = [order.sorted(section), order.sorted(section)];
  let next = 3_000;
  while (works.length > 0) {
    for (const work of [...works]) {
      if (work.next().done === true) works.splice(works.indexOf(work), 1);
    }
    if (next < 4_000) add(section, next, next + 20);
    next += 20;
  }
  expect(section.size).toBeGreaterThan(3_100);
  expect(sorted(order, section).names).toEqual(expected(section));
});

it('NameOrder has each name once and ends, although names are removed and added again while it sorts', () => {
  const order = new NameOrder();
  const section = new LosingSection<number>();
  for (let i = 0; i < 3_000; i += 1) section.set(`n${i}`, i);
  for (let run = 0; run < 3; run += 1) {
    const work = order.sorted(section);
    let steps = 0;
    let next = work.next();
    for (; next.done !== true; next = work.next()) {
      for (let i = 0; i < 600; i += 1) {
        const name = `n${(steps * 600 + i) % 3_000}`;
        section.delete(name);
        section.set(name, i);
      }
      steps += 1;
      expect(steps).toBeLessThan(100);
    }
    expect(next.value).toEqual([...new Set(next.value)].sort());
  }
  section.delete('n7');
  section.set('new', 1);
  const work = order.sorted(section);
  let last = work.next();
  while (last.done !== true) last = work.next();
  expect(last.value).toEqual([...section.keys()].sort());
});
