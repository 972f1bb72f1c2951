/** Holds answers of the monitoring port against its OpenAPI document: status, fields, media type and content. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { RecordedAnswer } from './recorded-answers.ts';

interface Field {
  readonly required?: boolean;
  readonly schema: { readonly type?: string };
}

interface Response {
  readonly headers: Readonly<Record<string, Field | Reference>>;
  readonly content: Readonly<Record<string, { readonly schema?: Reference }>>;
}

interface Reference {
  readonly $ref: string;
}

interface Operation {
  readonly responses: Readonly<Record<string, Response | Reference>>;
}

export interface Document {
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: { readonly responses: Readonly<Record<string, Response>> };
}

/** Fields that belong to HTTP, and not to what is answered. */
const OF_HTTP: ReadonlySet<string> = new Set([
  ...['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'],
]);

const REFUSED_METHOD = '405';
/** What the server says before it knows which path or method was meant. */
const BEFORE_ROUTING = ['400', '408', '431'];

const NO_FAULTS: readonly string[] = [];

/** An answer's head, taken apart. */
interface Head {
  readonly status: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

export class AnswerCheck {
  readonly #document: Document;
  readonly #ajv: Ajv2020;
  readonly #validators = new Map<string, ValidateFunction>();
  /** Path templates as patterns, those without parameters first. */
  readonly #operations: readonly (readonly [pattern: RegExp, Operation])[];
  /** Refusals by status, for what is no path of the document. */
  readonly #refusals: Readonly<Record<string, Reference>>;

  constructor(document: Document) {
    this.#document = document;
    this.#ajv = new Ajv2020({ strict: false, allErrors: false });
    addFormats.default(this.#ajv);
    this.#ajv.addSchema(document, 'document');
    this.#operations = toOperations(document);
    this.#refusals = toRefusals(document);
  }

  /** What does not fit; empty if nothing, e.g. `['status 418 is not described']`. */
  faultsOf(answer: RecordedAnswer): readonly string[] {
    const head = toHead(answer.head);
    const described = this.#responsesTo(answer)[head.status];
    if (described === undefined) return [`status ${head.status} is not described`];
    const response = this.#resolved(described);
    return [...this.#fieldFaults(response, head), ...this.#contentFaults(response, head, answer)];
  }

  #responsesTo({ method, target }: RecordedAnswer): Operation['responses'] {
    if (method === undefined || target === undefined) return only(this.#refusals, [...BEFORE_ROUTING, REFUSED_METHOD]);
    if (method !== 'GET' && method !== 'HEAD') return only(this.#refusals, [...BEFORE_ROUTING, REFUSED_METHOD]);
    const path = toPath(target);
    const operation = this.#operations.find(([pattern]) => pattern.test(path))?.[1];
    return operation?.responses ?? this.#refusals;
  }

  #fieldFaults({ headers }: Response, { status, fields }: Head): readonly string[] {
    const present = new Set(fields.map(([name]) => name));
    const described = Object.entries(headers).map(([name, field]) => [name, this.#resolved(field)] as const);
    const byName = new Map(described);
    // With what has not changed, only what may have (RFC 9110 §15.4.5).
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
      return mediaType === undefined && answer.content.length === 0 ? NO_FAULTS : [`${status} with content`];
    }
    const described = mediaType === undefined ? undefined : content[mediaType];
    if (described === undefined) return [`${status} with the media type ${mediaType}, which is not described`];
    if (answer.method === 'HEAD') return answer.content.length === 0 ? NO_FAULTS : [`content in an answer to HEAD`];
    if (!answer.isWhole || described.schema === undefined) return NO_FAULTS;
    const text = answer.content.toString('utf8');
    const isJson = /[/+]json$/.test(mediaType ?? '');
    const value = isJson ? toJson(text) : text;
    if (value === undefined) return [`${status} with a content that is no JSON`];
    const validate = this.#validator({ $ref: `document${described.schema.$ref}` });
    return validate(value)
      ? NO_FAULTS
      : [`${status}: ${this.#ajv.errorsText(validate.errors, { dataVar: 'content' })}`];
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

function toOperations({ paths }: Document): [RegExp, Operation][] {
  const templates = Object.keys(paths).sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')));
  return templates.map((template) => {
    const parts = template.split(/\{\w+\}/).map((part) => escaped(decoded(part)));
    return [new RegExp(`^${parts.join('[^/]+')}$`), (paths[template] as { get: Operation }).get];
  });
}

/** Every refusal has one status. */
function toRefusals({ components, paths }: Document): Record<string, Reference> {
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
  // A slash that is written as %2F belongs to a name.
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

function only<T>(entries: Readonly<Record<string, T>>, keys: readonly string[]): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => keys.includes(key)));
}

function toHead(text: string): Head {
  const [statusLine = '', ...lines] = text.split('\r\n').filter((line) => line !== '');
  const fields = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: statusLine.split(' ')[1] ?? '', fields };
}

/** A number is written in digits, and in nothing else. */
function toFieldValue(text: string, type: string | undefined): unknown {
  const isNumber = (type === 'integer' || type === 'number') && /^\d+(?:\.\d+)?$/.test(text);
  return isNumber ? Number(text) : text;
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
