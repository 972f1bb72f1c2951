import diagnostics from 'node:diagnostics_channel';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { FastifyInstance } from 'fastify';
import { afterAll, expect, it } from 'vitest';
import { createDocument, type DocumentOptions } from '../../../../src/monitor/openapi/document.ts';
import type { Named, Reference } from '../../../support/monitor/answers/answer-check.ts';
import { send } from '../../../support/net.ts';
import { startStand } from '../../../support/wire/stand.ts';

type Content = Named<{ schema?: Reference; examples?: Named<Reference> }>;

interface Operation {
  readonly operationId: string;
  readonly security: readonly Named<readonly string[]>[];
  readonly parameters?: readonly Reference[];
  readonly responses: Named<Reference | { readonly content: Content }>;
}

interface Document {
  readonly info: { readonly version: string };
  readonly paths: Named<{ readonly get: Operation }>;
  readonly components: {
    readonly parameters: Named<{ readonly name: string; readonly in: string }>;
    readonly responses: Named<{ readonly content: Content }>;
    readonly examples: Named<{ readonly value: unknown }>;
  };
}

const OPTIONS: DocumentOptions = { version: '1.2.3', applications: ['smartWeb'] };
const FILE = 'src/monitor/openapi/openapi.yaml';

function parsed(options: Partial<DocumentOptions> = {}): Document {
  return JSON.parse(createDocument({ ...OPTIONS, ...options })) as Document;
}

/** `{}` for `:name` and `{name}`: a name stands for any name. */
function nameless(url: string): string {
  return url.replace(/(?<!:):\w+|\{\w+\}/g, '{}').replaceAll('::', ':');
}

const routes: { readonly url: string; readonly access: string }[] = [];

const onFastify = (message: unknown): void => {
  const { fastify } = message as { readonly fastify: FastifyInstance };
  fastify.addHook('onRoute', ({ url, method, config }) => {
    if (method !== 'HEAD') routes.push({ url, access: config?.access ?? 'sessions' });
  });
};

diagnostics.subscribe('fastify.initialization', onFastify);
const stand = await startStand();
diagnostics.unsubscribe('fastify.initialization', onFastify);
afterAll(() => stand.close());

it('the OpenAPI document describes every route with the role that it needs, and nothing else', () => {
  expect(routes.length).toBeGreaterThan(17);
  const needed = routes.map(({ url, access }) => {
    const schemes = access === 'open' ? [] : ['basic', 'bearer', 'certificate'];
    return [nameless(url), schemes.map((scheme) => ({ [scheme]: [access] }))];
  });
  const described = Object.entries(parsed().paths).map(([path, { get }]) => [nameless(path), get.security]);
  expect(Object.fromEntries(described), FILE).toEqual(Object.fromEntries(needed));
});

it('the OpenAPI document is what a sidecar serves', async () => {
  const { headers, body } = await send(stand.monitorPort, '/openapi.json');
  const { version } = (JSON.parse(body) as Document).info;
  expect(version).toMatch(/^\d+\.\d+\.\d+/);
  expect(body).toBe(createDocument({ ...OPTIONS, version }));
  expect(headers['content-type']).toBe('application/json');
});

it('the OpenAPI document describes each parameter of a path', () => {
  const { paths, components } = parsed();
  for (const [path, { get }] of Object.entries(paths)) {
    const named = (get.parameters ?? []).map(({ $ref }) => components.parameters[$ref.split('/').at(-1) ?? '']);
    expect(named, 'a dangling reference').not.toContain(undefined);
    const inPath = named.filter((parameter) => parameter?.in === 'path').map((parameter) => `{${parameter?.name}}`);
    expect([path, inPath]).toEqual([path, path.match(/\{\w+\}/g) ?? []]);
  }
});

it('the OpenAPI document describes each application under its own base, with unique operation ids', () => {
  const { paths } = parsed({ applications: ['smartWeb', 'a/b:c', ''] });
  const bases = ['/smartWeb', '/a/b:c', ''].map((base) => `${base}/api/rest/v0/admin/metrics/jvm`);
  expect(Object.keys(paths)).toEqual(expect.arrayContaining(bases));
  const ids = Object.values(paths).map(({ get }) => get.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(['jvm', 'jvm2', 'jvm3']));
});

it('the OpenAPI document writes the durations and rates of its examples with a fraction, as the answers do', () => {
  const text = createDocument(OPTIONS);
  expect(text).toMatch(/"p50":0\.\d+/);
  expect(text).not.toMatch(/"(?:\w+_rate|p\d+|stddev|mean|min|max)":\d+[,}]/);
});

it('the OpenAPI document has only examples that fit their schemas, and uses each of them', () => {
  const document = parsed();
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, 'document');
  const inline = Object.values(document.paths).flatMap(({ get }) => Object.values(get.responses));
  const answers = [...inline, ...Object.values(document.components.responses)];
  const contents = answers.flatMap((answer) => ('$ref' in answer ? [] : Object.values(answer.content)));
  const used = new Set<string>();
  for (const { schema, examples = {} } of contents) {
    // Of the page's files, only the media type is described.
    if (schema === undefined) continue;
    const validate = ajv.compile({ $ref: `document${schema.$ref}` });
    for (const name of Object.keys(examples)) {
      used.add(name);
      const isRight = validate(document.components.examples[name]?.value);
      expect([name, isRight, ajv.errorsText(validate.errors)]).toEqual([name, true, 'No errors']);
    }
  }
  expect([...used].sort()).toEqual(Object.keys(document.components.examples).sort());
});

// The schema is compiled for each document, which takes seconds on a busy machine.
it('the OpenAPI document is valid OpenAPI 3.1, by the schema of OpenAPI itself', { timeout: 60_000 }, async () => {
  for (const applications of [['smartWeb', 'a/b', ''], []])
    expect(await new Validator().validate({ ...parsed({ applications }) })).toEqual({ valid: true });
});
