/**
 * The OpenAPI 3.1 document of the monitoring port: openapi.yaml, completed with the version, the
 * definitions of fields and the configured applications. Loaded at the first request for it. This folder must not know how answers are generated.
 */
import { CALL_FIELDS, SESSION_FIELDS, toPlainText } from '../../base/definitions.ts';
import { DESCRIPTION, type Schema } from './openapi.yaml';

export interface DocumentOptions {
  readonly version: string;
  /** Context paths without outer slashes, e.g. `smartWeb`; `''` is the root context. */
  readonly applications: readonly string[];
}

type Paths = (typeof DESCRIPTION)['paths'];

/** Begins the paths that each application has. */
const BASE = '{base}';

export function createDocument({ version, applications }: DocumentOptions): string {
  const { 'x-shared': _shared, info, paths, components, ...rest } = DESCRIPTION;
  const { Session, Call, SlowCall } = components.schemas;
  const schemas = {
    ...components.schemas,
    Session: describeProperties(Session, SESSION_FIELDS),
    Call: describeProperties(Call, CALL_FIELDS),
    SlowCall: describeProperties(SlowCall, CALL_FIELDS),
  };
  const served = { info: { ...info, version }, paths: servePaths(paths, applications) };
  return JSON.stringify({ ...rest, ...served, components: { ...components, schemas } });
}

function describeProperties(schema: Schema, fields: Readonly<Record<string, string>>): Schema {
  const properties = Object.entries(schema.properties).map(([name, property]) => {
    const description = toPlainText(fields[name] as string);
    return [name, { ...property, description }] as const;
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** The first application has the plain operation ids, others get a number as suffix: an `operationId` is unique. */
function servePaths(paths: Paths, applications: readonly string[]): Paths {
  const described = Object.entries(paths);
  const ofApplications = applications.flatMap((application, i) =>
    described
      .filter(([path]) => path.startsWith(BASE))
      .map(([path, { get }]) => {
        const operationId = i === 0 ? get.operationId : `${get.operationId}${i + 1}`;
        return [formatBase(application) + path.slice(BASE.length), { get: { ...get, operationId } }] as const;
      }),
  );
  return Object.fromEntries([...ofApplications, ...described.filter(([path]) => !path.startsWith(BASE))]);
}

/** E.g. `/smartWeb/api/rest/v0/admin`. Braces are escaped, since they would begin a parameter. */
function formatBase(application: string): string {
  const path = application === '' ? '' : `/${application.replaceAll('{', '%7B').replaceAll('}', '%7D')}`;
  return `${path}/api/rest/v0/admin`;
}
