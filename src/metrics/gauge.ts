/**
 * A value that is read when the answer is written, e.g. `{ type: 'integer', read: () => sessions.size }`.
 *
 * `type` is that of the field: a `double` of 5 is written as `5.0`. A string is written as a string whatever the type.
 * If `read` throws, this gauge alone is written as Dropwizard's `error`.
 */
export interface Gauge {
  readonly type: 'integer' | 'double';
  read(): number | string | null;
}
