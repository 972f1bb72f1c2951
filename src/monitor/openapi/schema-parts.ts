/** What schemas are made of. */

/** A JSON Schema of the 2020-12 dialect, which OpenAPI 3.1 uses as it is. */
export type Schema = Readonly<Record<string, unknown>>;

export const dateTime: Schema = { type: 'string', format: 'date-time', pattern: '\\.\\d{3}Z$' };

/** An object of exactly these properties, all of them required. */
export function exactly(properties: Readonly<Record<string, Schema>>, description?: string): Schema {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    required: Object.keys(properties),
    properties,
    additionalProperties: false,
  };
}

/** As `exactly`, with properties that may be missing. */
export function withOptional(schema: Schema, optional: Readonly<Record<string, Schema>>): Schema {
  return { ...schema, properties: { ...(schema.properties as object), ...optional } };
}
