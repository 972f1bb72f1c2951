/** Writes config/schema.json. Run `npm run schema` in the project's folder after a change of the schema. */
import { writeFileSync } from 'node:fs';
import { toJsonSchemaText } from './json-schema.ts';

writeFileSync('config/schema.json', toJsonSchemaText());
