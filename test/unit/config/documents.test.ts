import { expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../../src/config/load-config.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { findShape, listKeys, metaOf, schemaAt } from '../../../src/config/schema-walk.ts';
import { readProject } from '../../support/docs/documents.ts';

const keys = listKeys().map((key) => {
  const schema = schemaAt(key.path) ?? configSchema;
  const { description = '', examples } = metaOf(schema);
  return { name: key.path.join('.'), schema, description, examples: (examples ?? []) as readonly unknown[] };
});
const namesOf = (some: typeof keys) => some.map(({ name }) => name);

it('each key of the schema has a description, and a default, parts or an example for config/sidecar.yaml', () => {
  const isIncomplete = ({ schema, description, examples }: (typeof keys)[number]) => {
    const hasDefault = z.safeParse(schema, undefined).data !== undefined;
    return description === '' || (!hasDefault && findShape(schema) === undefined && examples.length === 0);
  };
  expect(namesOf(keys.filter(isIncomplete))).toEqual([]);
  const refused = keys.filter(({ schema, examples }) => examples.some((one) => !z.safeParse(schema, one).success));
  expect(namesOf(refused)).toEqual([]);
});

const text = readProject('config/sidecar.yaml');

it('config/sidecar.yaml yields exactly the defaults', async () => {
  const { config } = await loadConfig({ flags: { config: 'config/sidecar.yaml' }, env: {}, readFile: readProject });
  const { config: defaults } = await loadConfig({ flags: { upstream: 'http://127.0.0.1:8080/smartWeb' }, env: {} });
  expect(config).toEqual(defaults);
});

it('config/sidecar.yaml can be used with all that is commented out', async () => {
  const load = (active: string) => loadConfig({ flags: { config: 'f' }, env: {}, readFile: () => active });
  const { config } = await load(text.replace(/^( *)# (auth: none|control:| {2}socket: )/gm, '$1$2'));
  expect(config).toMatchObject({ monitor: { auth: 'none' }, control: { socket: '/run/d2-sidecar/control.sock' } });
  const { config: closed } = await load(text.replace(/^( *)# (auth:$| {2}(?:users|tokens)File: )/gm, '$1$2'));
  expect(closed.monitor.auth).toEqual({ usersFile: '/etc/d2-sidecar/users', tokensFile: '/etc/d2-sidecar/tokens' });
});
