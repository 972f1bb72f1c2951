/** A JSON Schema of the 2020-12 dialect, which is the one of OpenAPI 3.1. */
export type Schema = Readonly<Record<string, unknown>>;

export const dateTime: Schema = { type: 'string', format: 'date-time', pattern: '\\.\\d{3}Z$' };

/** An object with exactly these properties, all required. */
export function exactly(properties: Readonly<Record<string, Schema>>, description?: string): Schema {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    required: Object.keys(properties),
    properties,
    additionalProperties: false,
  };
}

/** Adds optional properties to a schema that `exactly` made. */
export function withOptional(schema: Schema, optional: Readonly<Record<string, Schema>>): Schema {
  return { ...schema, properties: { ...(schema.properties as object), ...optional } };
}
