import { expect, it } from 'vitest';
import { allKinds } from '../../../abuse/generator/kinds.ts';

/** The default of `limits.headBytes`. */
const MAX_HEAD_BYTES = 65_536;

it('each kind of piece has a name of its own, and fills a head that the sidecar reads', () => {
  const kinds = allKinds();
  expect(new Set(kinds.map(({ name }) => name)).size).toBe(kinds.length);
  for (const { name, how, build } of kinds.filter((_, nth) => nth % 7 === 0)) {
    const bytes = build();
    if (how === 'tunnel') continue;
    const headBytes = bytes.indexOf('\r\n\r\n') + 4;
    expect(headBytes, name).toBeGreaterThan(4);
    // A head with more fields than `limits.fields` is shorter, but refused as well.
    expect(headBytes, name).toBeLessThanOrEqual(MAX_HEAD_BYTES);
    if (/: .* in 900 lines|^(?:path|query)/.test(name)) expect(headBytes, name).toBeGreaterThan(20_000);
  }
});
