/** Writes config/schema.json; run by `npm run schema` after a change of the schema. */
import { writeFileSync } from 'node:fs';
import { toJsonSchemaText } from './json-schema.ts';

writeFileSync(new URL('../../config/schema.json', import.meta.url), toJsonSchemaText());
