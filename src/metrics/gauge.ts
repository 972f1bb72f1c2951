/**
 * A value that is read at the moment of the answer, e.g. `{ type: 'integer', read: () => sessions.size }`.
 *
 * `type` is that of the field, not of the value: a `double` of 5 is written `5.0`. A text is written as a text whatever the
 * type. A `read` that throws is written as Dropwizard's `error` and harms no other metric.
 */
export interface Gauge {
  readonly type: 'integer' | 'double';
  read(): number | string | null;
}
