/** How one endpoint of the monitoring port is described: enough of OpenAPI 3.1 for what we answer, with names for what is shared. */
import type { Role } from '../access/reader.ts';
import type { ExampleName } from './examples.ts';
import type { ParameterName } from './parameters.ts';
import type { Schema } from './schema-parts.ts';
import type { SchemaName } from './schemas.ts';

/** Fields of an answer by their names in lower case. */
export type AnswerFields = Readonly<Record<string, AnswerField>>;

export interface AnswerField {
  readonly description: string;
  /** Of the field's value: a number is written in digits. */
  readonly schema: Schema;
  /** The field is only there in some of the answers. */
  readonly isOptional?: boolean;
}

export interface AnswerContent {
  /** Undefined: nothing is said of the content but its media type. */
  readonly schema?: SchemaName;
  readonly examples?: readonly ExampleName[];
}

export interface Answer {
  readonly description: string;
  /** By media type, written as the answer's Content-Type says it. */
  readonly content: Readonly<Record<string, AnswerContent>>;
  /** Beside those that every answer has; one of the same name takes the place of that. */
  readonly fields?: AnswerFields;
}

export interface Endpoint {
  /** Template of the path, e.g. `/livez`; of an application's endpoint what follows its base, e.g. `/metrics/d2/rpc/{name}`. */
  readonly path: string;
  readonly of: 'sidecar' | 'application';
  readonly tag: 'statistics' | 'sessions' | 'jvm' | 'sidecar' | 'health' | 'page';
  /** Unique, e.g. `rpcByName`: generators of clients make a function of it. */
  readonly id: string;
  /** What a reader needs; the same as the route's own `access`. */
  readonly access: Role | 'open';
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly ParameterName[];
  /** By status. Refusals that are the same everywhere (answers.ts) need not be repeated. */
  readonly answers: Readonly<Record<number, Answer>>;
}
