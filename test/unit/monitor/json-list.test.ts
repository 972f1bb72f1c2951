import { describe, expect, it } from 'vitest';
import type { SessionEntry } from '../../../src/measure/sessions/session.ts';
import { renderList } from '../../../src/monitor/json-list.ts';

const ENTRY: SessionEntry = {
  ...{ id: '0d9c6d3a', createTime: '2026-03-01T08:00:00.000Z', userName: 'ann', connectionType: 'REST' },
  ...{ lastActivityTime: '2026-03-01T08:00:01.000Z', remoteAddress: '10.0.0.7', requests: 3 },
};

const LISTS: Readonly<Record<string, readonly SessionEntry[]>> = {
  none: [],
  'one that nothing has proven': [{ ...ENTRY, verified: false }, ENTRY],
  'three, one without a name': [ENTRY, { ...ENTRY, userName: null }, { ...ENTRY, requests: 0 }],
  'names that need escapes': ['a"b', 'x\\y', 'two\nlines', '  },\n  {', 'Größe 😀', '\ud83d', '\u2028', ''].map(
    (userName) => ({ ...ENTRY, userName }),
  ),
};

describe('renderList', () => {
  for (const [what, list] of Object.entries(LISTS)) {
    it(`writes ${what} as JSON.stringify does`, () => {
      expect([...renderList(list, false)].join('')).toBe(JSON.stringify(list));
      expect([...renderList(list, true)].join('')).toBe(JSON.stringify(list, undefined, 2));
    });
  }

  it('reads one session for each piece', () => {
    let taken = 0;
    function* entries(): Generator<SessionEntry> {
      for (let i = 0; i < 100; i += 1) {
        taken += 1;
        yield ENTRY;
      }
    }
    let before = 0;
    for (const _piece of renderList(entries(), false)) {
      expect(taken - before).toBeLessThanOrEqual(1);
      before = taken;
    }
    expect(taken).toBe(100);
  });
});
