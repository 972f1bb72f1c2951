import { expect, it } from 'vitest';
import { randomId } from '../../../src/base/random-id.ts';
import { listSources, readProject } from '../../support/docs/documents.ts';

it('random ids are UUIDs of version 4 (RFC 9562 §5.4), each another one', () => {
  const ids = Array.from({ length: 1_000 }, randomId);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(ids).size).toBe(ids.length);
});

it('nothing in src takes ids from randomUUID or randomInt', () => {
  const takes = (file: string) => /import \{[^}]*\brandom(?:UUID|Int)\b/.test(readProject(`src/${file}`));
  expect(listSources().filter(takes)).toEqual([]);
});
