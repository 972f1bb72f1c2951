/** The document against the schema of OpenAPI 3.1 itself. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { createDocument } from '../../../../src/monitor/openapi/document.ts';

function documentOf(applications: readonly string[]): string {
  return createDocument({ version: '1.2.3', applications });
}

async function validityOf(text: string) {
  return await new Validator().validate(JSON.parse(text) as Record<string, unknown>);
}

// The schema is compiled for each document, which takes seconds on a busy machine.
const LONG = { timeout: 60_000 };

it('the document is valid OpenAPI 3.1, whatever the applications are called', LONG, async () => {
  expect(await validityOf(documentOf(['smartWeb', 'a/b', '']))).toEqual({ valid: true });
  expect(await validityOf(documentOf([]))).toEqual({ valid: true });
});

it.each([
  ['an endpoint without answers', /"responses":/, '"answers":'],
  ['a parameter without a place', /"in":"query"/, '"in":"nowhere"'],
  ['an unknown version', /"openapi":"3\.1\.\d+"/, '"openapi":"2.0"'],
])('the validator refuses %s', LONG, async (_what, pattern, wrong) => {
  const text = documentOf(['smartWeb']);
  expect(text).toMatch(pattern);
  expect((await validityOf(text.replace(pattern, wrong))).valid).toBe(false);
});
