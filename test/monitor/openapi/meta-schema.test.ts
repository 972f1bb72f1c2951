/** The document against the schema of OpenAPI 3.1 itself, where the package that brings it is installed. */
import { expect, it } from 'vitest';
import { createDocument } from '../../../src/monitor/openapi/document.ts';

const PACKAGE = '@seriousme/openapi-schema-validator';

interface Validating {
  readonly Validator: new () => { validate(document: object): Promise<{ valid: boolean; errors?: unknown }> };
}

const validating = await (import(PACKAGE) as Promise<Validating>).catch(() => undefined);
if (validating === undefined) console.warn(`SKIPPED: the check by the schema of OpenAPI; it needs ${PACKAGE}`);

it.skipIf(validating === undefined)('is valid OpenAPI 3.1', async () => {
  const options = { version: '1.2.3', windowMs: 300_000, durationUnit: 'seconds' } as const;
  const document = JSON.parse(createDocument({ ...options, applications: ['smartWeb', 'a/b', ''] })) as object;
  const validator = new (validating as Validating).Validator();
  expect(await validator.validate(document)).toEqual({ valid: true });
  const broken = JSON.parse(JSON.stringify(document).replace('"responses":', '"answers":')) as object;
  expect((await new (validating as Validating).Validator().validate(broken)).valid).toBe(false);
});
