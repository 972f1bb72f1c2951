/** The document against the schema of OpenAPI 3.1 itself. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { createDocument } from '../../../src/monitor/openapi/document.ts';

const OPTIONS = { version: '1.2.3', windowMs: 300_000, durationUnit: 'seconds' } as const;

function documentOf(applications: readonly string[]): string {
  return createDocument({ ...OPTIONS, applications });
}

async function validityOf(text: string) {
  return await new Validator().validate(JSON.parse(text) as Record<string, unknown>);
}

// The schema is compiled for each document, which takes a second or some where the machine has much else to do.
const LONG = { timeout: 60_000 };

it('is valid OpenAPI 3.1, whatever the applications are called', LONG, async () => {
  expect(await validityOf(documentOf(['smartWeb', 'a/b', '']))).toEqual({ valid: true });
  expect(await validityOf(documentOf([]))).toEqual({ valid: true });
});

it.each([
  ['an endpoint without answers', /"responses":/, '"answers":'],
  ['a parameter of no place', /"in":"query"/, '"in":"nowhere"'],
  ['a version that there is not', /"openapi":"3\.1\.\d+"/, '"openapi":"2.0"'],
])('would not be with %s', LONG, async (_what, pattern, wrong) => {
  const text = documentOf(['smartWeb']);
  expect(text).toMatch(pattern);
  expect((await validityOf(text.replace(pattern, wrong))).valid).toBe(false);
});
