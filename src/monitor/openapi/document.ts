/**
 * The OpenAPI 3.1 document of the monitoring port. It is hand-written data (endpoints.ts), completed with the
 * configured applications. Fastify would make such a document from route schemas, but with compilers that nothing else
 * here needs. Loaded at the first request for it.
 */
import { COMMON_FIELDS, REFUSALS, refusalsOf } from './answers.ts';
import type { Answer, AnswerContent, AnswerField, AnswerFields, Endpoint } from './endpoint.ts';
import { ENDPOINTS } from './endpoints.ts';
import { createExamples, type ExampleOptions } from './examples.ts';
import { PARAMETERS } from './parameters.ts';
import { SCHEMAS } from './schemas.ts';

export interface DocumentOptions extends ExampleOptions {
  /** Version of the sidecar, e.g. `1.4.0`. */
  readonly version: string;
  /** Context paths without outer slashes, e.g. `smartWeb`; `''` is the root context. */
  readonly applications: readonly string[];
}

const DESCRIPTION = `What a reverse proxy in front of a D2000 application server has counted and timed. Everything here is read-only: each path takes GET and HEAD, and answers everything else with 405.

Times of day are ISO 8601 in UTC. Where \`monitor.auth\` is configured, a reader needs a user name and password, a token or a client certificate, with the role that the endpoint names; without it, everybody may read.`;

const TAGS: Readonly<Record<Endpoint['tag'], string>> = {
  statistics: 'What the users of an application do.',
  sessions: 'Who is connected.',
  jvm: 'The condition of the application server’s JVM.',
  sidecar: 'For all applications together.',
  health: 'For whoever starts and stops programs. Needs no credential and tells no details.',
  page: 'For people.',
};

const SECURITY_SCHEMES = {
  basic: { type: 'http', scheme: 'basic', description: 'A user of `monitor.auth.usersFile`.' },
  bearer: { type: 'http', scheme: 'bearer', description: 'A token of `monitor.auth.tokensFile`.' },
  certificate: { type: 'mutualTLS', description: 'A client certificate listed in `monitor.auth.certificates`.' },
};

/** Placeholder for the JSON text of an example, which is inserted last. */
const EXAMPLE = /"\\u0000example:(\w+)"/g;

/** The document as compact JSON. */
export function createDocument(options: DocumentOptions): string {
  const examples: ReadonlyMap<string, string> = createExamples(options);
  const text = JSON.stringify(toDocument(options, [...examples.keys()]));
  return text.replace(EXAMPLE, (_all, name: string) => examples.get(name) ?? 'null');
}

function toDocument({ version, applications }: DocumentOptions, exampleNames: readonly string[]): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'd2-sidecar, monitoring',
      version,
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: toPaths(applications),
    components: {
      schemas: SCHEMAS,
      parameters: mapped(PARAMETERS, ({ in: place, ...rest }) => ({
        in: place,
        ...rest,
        ...(place === 'path' && { required: true }),
      })),
      headers: mapped(COMMON_FIELDS, toHeader),
      responses: mapped(REFUSALS, toResponse),
      examples: Object.fromEntries(exampleNames.map((name) => [name, { value: `\u0000example:${name}` }])),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** The first application has the plain operation ids, others get a number as suffix: an `operationId` is unique. */
function toPaths(applications: readonly string[]): object {
  const ofApplications = applications.flatMap((application, i) =>
    ENDPOINTS.filter((endpoint) => endpoint.of === 'application').map((endpoint) => [
      `${toBase(application)}${endpoint.path}`,
      { get: toOperation(endpoint, i === 0 ? '' : String(i + 1)) },
    ]),
  );
  const ofSidecar = ENDPOINTS.filter((endpoint) => endpoint.of === 'sidecar').map((endpoint) => [
    endpoint.path,
    { get: toOperation(endpoint, '') },
  ]);
  return Object.fromEntries([...ofApplications, ...ofSidecar]);
}

/** E.g. `/smartWeb/api/rest/v0/admin`. Braces are escaped, since they would begin a parameter. */
function toBase(application: string): string {
  const path = application === '' ? '' : `/${application.replaceAll('{', '%7B').replaceAll('}', '%7D')}`;
  return `${path}/api/rest/v0/admin`;
}

function toOperation(endpoint: Endpoint, idSuffix: string): object {
  const { id, tag, summary, description, access, parameters = [], answers } = endpoint;
  const refusals = refusalsOf(endpoint).map((name) => [
    String(REFUSALS[name].status),
    { $ref: `#/components/responses/${name}` },
  ]);
  return {
    operationId: `${id}${idSuffix}`,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: access === 'open' ? [] : Object.keys(SECURITY_SCHEMES).map((scheme) => ({ [scheme]: [access] })),
    ...(parameters.length === 0
      ? {}
      : { parameters: parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })) }),
    responses: { ...mapped(answers as Readonly<Record<string, Answer>>, toResponse), ...Object.fromEntries(refusals) },
  };
}

function toResponse({ description, content, fields = {} }: Answer): object {
  return { description, headers: toHeaders(fields), content: mapped(content, toMediaType) };
}

function toMediaType({ schema, examples = [] }: AnswerContent): object {
  return {
    ...(schema === undefined ? {} : { schema: { $ref: `#/components/schemas/${schema}` } }),
    ...(examples.length === 0
      ? {}
      : { examples: Object.fromEntries(examples.map((name) => [name, { $ref: `#/components/examples/${name}` }])) }),
  };
}

/** The common header fields, and those of the answer, which take precedence. */
function toHeaders(fields: AnswerFields): object {
  const common = Object.keys(COMMON_FIELDS).map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return { ...Object.fromEntries(common), ...mapped(fields, toHeader) };
}

function toHeader({ description, schema, isOptional }: AnswerField): object {
  return { description, ...(isOptional === true ? {} : { required: true }), schema };
}

function mapped<From, To>(entries: Readonly<Record<string, From>>, to: (from: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, to(entry)]));
}
