/** Checks answers of the monitoring port against its OpenAPI document: status, fields, media type and content. */
import { gunzipSync } from 'node:zlib';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { createDocument } from '../../../../src/monitor/openapi/document.ts';
import type { RecordedAnswer } from './recorded-answers.ts';

export interface Reference {
  readonly $ref: string;
}

export type Named<T> = Readonly<Record<string, T>>;
type Field = { readonly required?: boolean; readonly schema: { readonly type?: string } };
type Responses = Named<Response | Reference>;

interface Response {
  readonly headers: Named<Field | Reference>;
  readonly content: Named<{ readonly schema?: Reference }>;
}

interface Document {
  readonly paths: Named<{ readonly get: { readonly responses: Responses } }>;
  readonly components: { readonly responses: Named<Response> };
}

/** Fields that belong to HTTP, not to the content. */
const OF_HTTP = new Set(['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding']);

const REFUSED_METHOD = '405';
/** Refusals that the server can send before it knows path and method. */
const OF_ANY_METHOD = ['400', '408', '431', REFUSED_METHOD];

type Head = ReturnType<typeof toHead>;

const checks = new Map<string, AnswerCheck>();

/** The violations, with their requests, e.g. `GET /livez: status 418 is not described`. */
export function complaintsAbout(answer: RecordedAnswer): readonly string[] {
  const { applications, method = 'no request', target = '' } = answer;
  const key = applications.join('\n');
  const check = checks.get(key) ?? new AnswerCheck(JSON.parse(createDocument({ version: '0.0.0', applications })));
  checks.set(key, check);
  return check.faultsOf(answer).map((fault) => `${method} ${target}: ${fault}`);
}

class AnswerCheck {
  readonly #document: Document;
  readonly #ajv: Ajv2020;
  readonly #validators = new Map<string, ValidateFunction>();
  /** Path templates as patterns, those without parameters first. */
  readonly #operations: readonly (readonly [pattern: RegExp, Responses])[];
  /** Refusals by status, for paths outside of the document. */
  readonly #refusals: Named<Reference>;

  constructor(document: Document) {
    this.#document = document;
    this.#ajv = new Ajv2020({ strict: false, allErrors: false });
    addFormats.default(this.#ajv);
    this.#ajv.addSchema(document, 'document');
    this.#operations = toOperations(document);
    this.#refusals = toRefusals(document);
  }

  /** The violations; empty if none, e.g. `['status 418 is not described']`. */
  faultsOf(answer: RecordedAnswer): readonly string[] {
    const head = toHead(answer.head);
    const described = this.#responsesTo(answer)[head.status];
    if (described === undefined) return [`status ${head.status} is not described`];
    const response = this.#resolved(described);
    return [...this.#fieldFaults(response, head), ...this.#contentFaults(response, head, answer)];
  }

  #responsesTo({ method, target }: RecordedAnswer): Responses {
    if (target === undefined || (method !== 'GET' && method !== 'HEAD')) {
      return Object.fromEntries(Object.entries(this.#refusals).filter(([status]) => OF_ANY_METHOD.includes(status)));
    }
    const path = toPath(target);
    return this.#operations.find(([pattern]) => pattern.test(path))?.[1] ?? this.#refusals;
  }

  #fieldFaults({ headers }: Response, { status, fields }: Head): readonly string[] {
    const present = new Set(fields.map(([name]) => name));
    const described = Object.entries(headers).map(([name, field]) => [name, this.#resolved(field)] as const);
    const byName = new Map(described);
    // A 304 has only the fields that may have changed (RFC 9110 §15.4.5).
    const missing = described.filter(([name, field]) => field.required === true && !present.has(name));
    const unknown = fields.filter(([name]) => !byName.has(name) && !OF_HTTP.has(name));
    const wrong = fields.filter(([name, value]) => {
      const schema = byName.get(name)?.schema;
      return schema !== undefined && !this.#validator(schema)(toFieldValue(value, schema.type));
    });
    return [
      ...missing.map(([name]) => `${status} without the field ${name}`),
      ...unknown.map(([name]) => `${status} with the field ${name}, which is not described`),
      ...wrong.map(([name, value]) => `${status} with ${name}: ${value}`),
    ];
  }

  #contentFaults({ content }: Response, { status, fields }: Head, answer: RecordedAnswer): readonly string[] {
    const field = (wanted: string) => fields.find(([name]) => name === wanted)?.[1];
    const mediaType = field('content-type');
    if (Object.keys(content).length === 0) {
      return mediaType === undefined && answer.content.length === 0 ? [] : [`${status} with content`];
    }
    const described = mediaType === undefined ? undefined : content[mediaType];
    if (described === undefined) return [`${status} with the media type ${mediaType}, which is not described`];
    if (answer.method === 'HEAD') return answer.content.length === 0 ? [] : [`content in an answer to HEAD`];
    if (!answer.isWhole || described.schema === undefined) return [];
    const isCoded = field('content-encoding') === 'gzip';
    const text = (isCoded ? gunzipSync(answer.content) : answer.content).toString('utf8');
    const isJson = /[/+]json$/.test(mediaType ?? '');
    const validate = this.#validator({ $ref: `document${described.schema.$ref}` });
    try {
      if (validate(isJson ? JSON.parse(text) : text)) return [];
    } catch {
      return [`${status} with a content that is no JSON`];
    }
    return [`${status}: ${this.#ajv.errorsText(validate.errors, { dataVar: 'content' })}`];
  }

  #validator(schema: object): ValidateFunction {
    const key = JSON.stringify(schema);
    const validate = this.#validators.get(key) ?? this.#ajv.compile(schema);
    this.#validators.set(key, validate);
    return validate;
  }

  #resolved<T extends object>(entry: T | Reference): T {
    if (!('$ref' in entry)) return entry;
    const steps = entry.$ref.replace(/^#\//, '').split('/');
    return steps.reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], this.#document) as T;
  }
}

function toOperations({ paths }: Document): [RegExp, Responses][] {
  const templates = Object.keys(paths).sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')));
  return templates.map((template) => {
    const parts = template.split(/\{\w+\}/).map((part) => escaped(decoded(part)));
    return [new RegExp(`^${parts.join('[^/]+')}$`), paths[template]?.get.responses ?? {}];
  });
}

/** Every refusal has one status. */
function toRefusals({ components, paths }: Document): Named<Reference> {
  const referred = Object.values(paths).flatMap(({ get }) => Object.entries(get.responses));
  const named = referred.flatMap(([status, response]) => ('$ref' in response ? [[status, response] as const] : []));
  const refused: Reference = { $ref: '#/components/responses/MethodNotAllowed' };
  const count = new Set(named.map(([, { $ref }]) => $ref)).add(refused.$ref).size;
  if (count !== Object.keys(components.responses).length) throw new Error('a refusal that no path refers to');
  return { ...Object.fromEntries(named), [REFUSED_METHOD]: refused };
}

/** The path as the router reads it: `/livez` of `http://plant:9280/livez/?a=b`. */
function toPath(target: string): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? '';
  // A slash written as %2F is part of a name.
  const segments = path.split('/').map((segment) => decoded(segment).replaceAll('/', '%2F'));
  return segments.join('/').replace(/(?<=.)\/$/, '');
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // Not percent-encoding: the server refuses it.
    return segment;
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function toHead(text: string) {
  const [statusLine = '', ...lines] = text.split('\r\n').filter((line) => line !== '');
  const fields = lines.map((line): [name: string, value: string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: statusLine.split(' ')[1] ?? '', fields };
}

/** A number consists of digits only. */
function toFieldValue(text: string, type: string | undefined): unknown {
  const isNumber = (type === 'integer' || type === 'number') && /^\d+(?:\.\d+)?$/.test(text);
  return isNumber ? Number(text) : text;
}
