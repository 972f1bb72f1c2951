import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { toJsonSchemaText } from '../../src/config/json-schema.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { listKeys } from '../../src/config/schema-walk.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
const keys = listKeys().map((key) => key.path.join('.'));

interface JsonSchema {
  readonly description?: string;
  readonly default?: unknown;
  readonly additionalProperties?: boolean;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly anyOf?: readonly JsonSchema[];
}

const schema = JSON.parse(read('config/schema.json')) as JsonSchema;

/** The schema of `metrics.maxNames.rpc`, also through the choice of a number or a group. */
function schemaOf(key: string): JsonSchema | undefined {
  return key.split('.').reduce<JsonSchema | undefined>((outer, name) => {
    const group = outer?.properties ?? outer?.anyOf?.find((option) => option.properties !== undefined)?.properties;
    return group?.[name];
  }, schema);
}

/** Paths of all keys in a YAML file, those that are commented out included. */
function keysIn(yaml: string): readonly string[] {
  const stack: { indent: number; name: string }[] = [];
  return [...yaml.matchAll(/^( *)(?:# )?( *)([A-Za-z]+):(?: |$)/gm)].map(([, before = '', after = '', name = '']) => {
    const indent = before.length + after.length;
    while ((stack.at(-1)?.indent ?? -1) >= indent) stack.pop();
    stack.push({ indent, name });
    return stack.map((one) => one.name).join('.');
  });
}

describe('config/schema.json', () => {
  it('is what the schema generates (npm run schema writes it)', () => {
    expect(read('config/schema.json')).toBe(toJsonSchemaText());
  });

  it('describes every key, and lets no other be', () => {
    expect(keys.filter((key) => (schemaOf(key)?.description ?? '') === '')).toEqual([]);
    expect(schema.additionalProperties).toBe(false);
    expect(
      Object.values(schema.properties ?? {}).filter(
        (one) => one.properties !== undefined && one.additionalProperties !== false,
      ),
    ).toEqual([]);
  });
});

describe('config/sidecar.yaml', () => {
  const text = read('config/sidecar.yaml');

  it('tells editors its schema in the first line', () => {
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=./schema.json');
  });

  it('has every key', () => {
    const present = keysIn(text);
    expect(keys.filter((key) => !present.includes(key))).toEqual([]);
  });

  it('yields exactly the defaults', async () => {
    const { config } = await loadConfig({ flags: { config: 'config/sidecar.yaml' }, env: {}, readFile: read });
    const { config: defaults } = await loadConfig({ flags: { upstream: 'http://127.0.0.1:8080/smartWeb' }, env: {} });
    expect(config).toEqual(defaults);
  });

  it('can be used with all that is commented out', async () => {
    const active = text.replace(/^( *)# (auth: none|control:| {2}socket: )/gm, '$1$2');
    const { config } = await loadConfig({ flags: { config: 'f' }, env: {}, readFile: () => active });
    expect(config).toMatchObject({ monitor: { auth: 'none' }, control: { socket: '/run/d2-sidecar/control.sock' } });
    const withFiles = text.replace(/^( *)# (auth:$| {2}(?:users|tokens)File: )/gm, '$1$2');
    const { config: closed } = await loadConfig({ flags: { config: 'f' }, env: {}, readFile: () => withFiles });
    expect(closed.monitor.auth).toEqual({
      usersFile: '/etc/d2-sidecar/users',
      tokensFile: '/etc/d2-sidecar/tokens',
    });
  });
});

describe('docs/configuration.md', () => {
  const rows = [...read('docs/configuration.md').matchAll(/^\| `([A-Za-z.]+)` +\| (?:`([^`]*)`)? *\| (.+?) *\|$/gm)];

  it('has a row for each key, in the order of the schema', () => {
    expect(rows.map(([, key]) => key)).toEqual(keys);
  });

  it('gives the default of each key', () => {
    const documented = Object.fromEntries(rows.map(([, key = '', byDefault]) => [key, byDefault]));
    const real = Object.fromEntries(
      keys.map((key) => {
        const byDefault = schemaOf(key)?.default;
        if (Array.isArray(byDefault)) return [key, `[${byDefault.join(', ')}]`];
        return [key, byDefault === undefined ? undefined : String(byDefault)];
      }),
    );
    expect(documented).toEqual(real);
  });
});
