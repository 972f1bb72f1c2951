import { expect, it } from 'vitest';
import { eachOnce } from '../../../src/base/metric-description.ts';

it('a map is read to an end, each name once, while names come, go and return, and whole if it stays as it is', () => {
  const map = new Map(Array.from({ length: 100 }, (_, i) => [`E.Old${i}`, i]));
  expect([...eachOnce(map)]).toEqual([...map]);
  const read: string[] = [];
  for (const [name] of eachOnce(map)) {
    read.push(name);
    map.delete(name);
    map.set(name, 0).set(`E.New${read.length}`, 0);
    map.delete(`E.Old${99 - read.length}`);
  }
  expect(new Set(read).size).toBe(read.length);
  expect(read.length).toBeLessThanOrEqual(100);
  expect(read.length).toBeGreaterThan(50);
});
