import type { Schema } from './schema-parts.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
}

export type ParameterName = 'session' | 'pretty' | 'rpcName' | 'objectName' | 'file' | 'application' | 'since';

/** All parameters of requests, by their names in `components`. */
export const PARAMETERS: Readonly<Record<ParameterName, Parameter>> = {
  session: {
    name: 'session',
    in: 'query',
    description:
      'Restricts the answer to one active session, by its id in the list of sessions. Needs the role `sessions`. Timers then describe the whole session, with percentiles within 10 %.',
    schema: { type: 'string', minLength: 1 },
    example: '6f1c3a52-7f0e-4f3b-9a54-0c8f2f6d9f1e',
  },
  pretty: {
    name: 'pretty',
    in: 'query',
    description: '`true`, in any letter case, indents the answer by two blanks.',
    schema: { type: 'string' },
    example: 'true',
  },
  rpcName: {
    name: 'name',
    in: 'path',
    description:
      'Event and method (with an interface between them where there is one), joined by dots and percent-encoded.',
    schema: { type: 'string' },
    example: 'E.Demo.TestInOut',
  },
  objectName: {
    name: 'name',
    in: 'path',
    description: 'Name of the object, percent-encoded.',
    schema: { type: 'string' },
    example: 'H.Temperature',
  },
  file: {
    name: 'file',
    in: 'path',
    description: 'Name of a file of the page.',
    schema: { type: 'string' },
    example: 'page.js',
  },
  application: {
    name: 'application',
    in: 'path',
    description: 'Name of the application, percent-encoded; `-` for the root context.',
    schema: { type: 'string' },
    example: 'smartWeb',
  },
  since: {
    name: 'since',
    in: 'query',
    description: 'Number of a step of the history (`seq`): only later ones are wanted. Beyond the newest: all of them.',
    schema: { type: 'integer', minimum: 0 },
    example: 17,
  },
};
