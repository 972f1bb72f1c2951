import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { randomId } from '../../../src/base/random-id.ts';

it('random ids are UUIDs of version 4 (RFC 9562 §5.4), each another one', () => {
  const ids = Array.from({ length: 1_000 }, randomId);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(ids).size).toBe(ids.length);
});

it('nothing in src takes ids from randomUUID or randomInt', () => {
  const src = new URL('../../../src/', import.meta.url);
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
  const users = files.filter((file) =>
    /import \{[^}]*\brandom(?:UUID|Int)\b/.test(readFileSync(new URL(file, src), 'utf8')),
  );
  expect(users).toEqual([]);
});
