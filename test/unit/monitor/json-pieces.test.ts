import { expect, it } from 'vitest';
import type { SessionEntry } from '../../../src/measure/sessions/session.ts';
import { renderList } from '../../../src/monitor/json-pieces.ts';

const ENTRY: SessionEntry = {
  ...{ id: '0d9c6d3a', createTime: '2026-03-01T08:00:00.000Z', userName: 'ann', connectionType: 'REST' },
  ...{ lastActivityTime: '2026-03-01T08:00:01.000Z', remoteAddress: '10.0.0.7', requests: 3 },
};

const ODD_NAMES = ['a"b', 'x\\y', 'two\nlines', '  },\n  {', 'Größe 😀', '\ud83d', '\u2028', '', null];

it.each<[string, readonly SessionEntry[]]>([
  ['no session', []],
  ['one that nothing has proven', [{ ...ENTRY, verified: false }]],
  ['odd names, and none', ODD_NAMES.map((userName) => ({ ...ENTRY, userName }))],
])('renderList writes %s as JSON.stringify does', (_, list) => {
  expect([...renderList(list, false)].join('')).toBe(JSON.stringify(list));
  expect([...renderList(list, true)].join('')).toBe(JSON.stringify(list, undefined, 2));
});
