/** The description of one endpoint: as much of OpenAPI 3.1 as our answers need, with names for shared parts. */
import type { Role } from '../access/reader.ts';
import type { ExampleName } from './examples.ts';
import type { ParameterName } from './parameters.ts';
import type { Schema } from './schema-parts.ts';
import type { SchemaName } from './schemas.ts';

/** Header fields of an answer, by lower-case name. */
export type AnswerFields = Readonly<Record<string, AnswerField>>;

export interface AnswerField {
  readonly description: string;
  /** Schema of the field's value; a number is written in digits. */
  readonly schema: Schema;
  /** Only some of the answers have the field. */
  readonly isOptional?: boolean;
}

export interface AnswerContent {
  /** Undefined: only the media type of the content is described. */
  readonly schema?: SchemaName;
  readonly examples?: readonly ExampleName[];
}

export interface Answer {
  readonly description: string;
  /** By media type, exactly as in the answer's Content-Type. */
  readonly content: Readonly<Record<string, AnswerContent>>;
  /** In addition to the common fields; replaces a common field of the same name. */
  readonly fields?: AnswerFields;
}

export interface Endpoint {
  /** Path template, e.g. `/livez`; for an application the part after its base, e.g. `/metrics/d2/rpc/{name}`. */
  readonly path: string;
  readonly of: 'sidecar' | 'application';
  readonly tag: 'statistics' | 'sessions' | 'jvm' | 'sidecar' | 'health' | 'page';
  /** Unique, e.g. `rpcByName`: client generators name a function after it. */
  readonly id: string;
  /** The required role; equals the route's own `access`. */
  readonly access: Role | 'open';
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly ParameterName[];
  /** By status. The common refusals (answers.ts) are not repeated. */
  readonly answers: Readonly<Record<number, Answer>>;
}
