import { expect, it } from 'vitest';
import { type Member, Roster } from '../../../src/base/roster.ts';

const member = (): Member => ({ place: -1 });

it('a roster has the members of a Set after the same changes in any order', () => {
  const members = Array.from({ length: 20 }, member);
  const roster = new Roster<Member>();
  const set = new Set<Member>();
  for (let step = 0; step < 2_000; step += 1) {
    const one = members[(step * 7 + (step % 13)) % members.length] as Member;
    if (!set.has(one) && step % 3 > 0) {
      roster.add(one);
      set.add(one);
    } else {
      roster.delete(one);
      set.delete(one);
    }
    expect(roster.size).toBe(set.size);
    expect(new Set(roster)).toEqual(set);
  }
});

it('a roster visits every member although each is deleted at its visit', () => {
  const roster = new Roster<Member>();
  for (let i = 0; i < 5; i += 1) roster.add(member());
  let visits = 0;
  for (const one of roster) {
    visits += 1;
    roster.delete(one);
  }
  expect([visits, roster.size]).toEqual([5, 0]);
});
