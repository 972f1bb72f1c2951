/** The document against the schema of OpenAPI 3.1 itself. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { createDocument } from '../../../../src/monitor/openapi/document.ts';

// The schema is compiled for each document, which takes seconds on a busy machine.
const LONG = { timeout: 60_000 };

it.each([[['smartWeb', 'a/b', '']], [[]]])('the document for %j is valid OpenAPI 3.1', LONG, async (applications) => {
  const document = JSON.parse(createDocument({ version: '1.2.3', applications })) as Record<string, unknown>;
  expect(await new Validator().validate(document)).toEqual({ valid: true });
});
