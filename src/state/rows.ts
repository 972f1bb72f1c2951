/**
 * Records as rows: the file names each set of fields once, `{"fields":["record","name","timer.rates.m1"]}`, and each of
 * its records is an array, `[0,"rpc","E.Demo.Run",0.5]`. The number before the values is that of the `fields` line, from
 * 0. A dot leads into a nested object, so no name of a field has one. `[]` after a name: the value is a list of rows.
 *
 * Objects in JSON would repeat the names in each record: 1.7 times the bytes.
 */
import { type Fields, SavedRecordError } from './saved-record.ts';

const NESTED = '.';
const ROWS = '[]';

type StepKind = 'value' | 'rows' | 'enter' | 'leave';

interface Step {
  readonly kind: StepKind;
  readonly name: string;
  readonly to: Shape;
}

/** Which fields a record has, in their order: a node of a trie. There are some dozens, whatever the size of the file. */
class Shape {
  readonly fields: readonly string[];
  /** Of the object that the next field belongs to, e.g. `timer.rates.`. */
  readonly #prefix: string;
  readonly #outer: Shape | undefined;
  readonly #steps: Step[] = [];
  /** The number of its `fields` line; undefined until a record has exactly these fields. */
  index: number | undefined;

  constructor(fields: readonly string[], prefix: string, outer: Shape | undefined) {
    this.fields = fields;
    this.#prefix = prefix;
    this.#outer = outer;
  }

  step(kind: StepKind, name: string): Shape {
    // Nearly always the first.
    for (const step of this.#steps) if (step.name === name && step.kind === kind) return step.to;
    const to = this.#create(kind, name);
    this.#steps.push({ kind, name, to });
    return to;
  }

  #create(kind: StepKind, name: string): Shape {
    if (kind === 'enter') return new Shape(this.fields, `${this.#prefix}${name}${NESTED}`, this);
    if (kind === 'leave') return this.#outer === undefined ? this : this.#outer.#with(this.fields);
    const field = `${this.#prefix}${name}${kind === 'rows' ? ROWS : ''}`;
    return this.#with([...this.fields, field]);
  }

  /** More fields, in the same object. */
  #with(fields: readonly string[]): Shape {
    return new Shape(fields, this.#prefix, this.#outer);
  }
}

/** Writes the records of one file. */
export class RowWriter {
  readonly #root = new Shape([], '', undefined);
  #shapes = 0;
  #newLines = '';

  /** The line of one record, after the `fields` lines that it is the first to need. */
  toLines(record: Fields): string {
    const row = JSON.stringify(this.#toRow(record));
    const lines = `${this.#newLines}${row}\n`;
    this.#newLines = '';
    return lines;
  }

  #toRow(record: Fields): unknown[] {
    const row: unknown[] = [0];
    row[0] = this.#indexOf(this.#append(record, this.#root, row));
    return row;
  }

  #append(fields: Fields, before: Shape, row: unknown[]): Shape {
    let shape = before;
    // Unlike Object.entries, this allocates nothing.
    for (const name in fields) {
      const value = fields[name];
      if (isObject(value)) {
        shape = this.#append(value, shape.step('enter', name), row).step('leave', '');
      } else if (isListOfObjects(value)) {
        shape = shape.step('rows', name);
        row.push(value.map((one) => this.#toRow(one)));
      } else {
        shape = shape.step('value', name);
        row.push(value);
      }
    }
    return shape;
  }

  #indexOf(shape: Shape): number {
    if (shape.index === undefined) {
      shape.index = this.#shapes;
      this.#shapes += 1;
      this.#newLines += `${JSON.stringify({ fields: shape.fields })}\n`;
    }
    return shape.index;
  }
}

/** Reads the records of one file. Throws `SavedRecordError` for lines that `RowWriter` does not write. */
export class RowReader {
  readonly #shapes: (readonly Field[])[] = [];

  /** The record in a line; undefined for a `fields` line. */
  toRecord(line: unknown): Fields | undefined {
    if (Array.isArray(line)) return this.#fromRow(line);
    if (!isObject(line) || !Array.isArray(line.fields)) throw new SavedRecordError('a row', 'record');
    this.#shapes.push(line.fields.map(toField));
    return undefined;
  }

  #fromRow(row: unknown): Fields {
    const [index, ...values] = Array.isArray(row) ? row : [];
    const fields = this.#shapes[index];
    if (fields?.length !== values.length) throw new SavedRecordError('a row of known fields', 'record');
    const record = createFields();
    for (let i = 0; i < values.length; i += 1) {
      const { path, name, isRows } = fields[i] as Field;
      const target = path.reduce(nestedIn, record);
      target[name] = isRows ? this.#fromRows(values[i], name) : values[i];
    }
    return record;
  }

  #fromRows(rows: unknown, name: string): readonly Fields[] {
    if (!Array.isArray(rows)) throw new SavedRecordError('a list', name);
    return rows.map((row) => this.#fromRow(row));
  }
}

interface Field {
  readonly path: readonly string[];
  readonly name: string;
  readonly isRows: boolean;
}

function toField(field: unknown): Field {
  if (typeof field !== 'string') throw new SavedRecordError('texts', 'fields');
  const isRows = field.endsWith(ROWS);
  const path = (isRows ? field.slice(0, -ROWS.length) : field).split(NESTED);
  return { path: path.slice(0, -1), name: path.at(-1) as string, isRows };
}

type MutableFields = Record<string, unknown>;

/** Without a prototype: a name in the file, such as `constructor`, finds nothing of ours. */
function createFields(): MutableFields {
  return Object.create(null) as MutableFields;
}

function nestedIn(fields: MutableFields, name: string): MutableFields {
  const there = fields[name];
  if (isObject(there)) return there as MutableFields;
  const nested = createFields();
  fields[name] = nested;
  return nested;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOfObjects(value: unknown): value is readonly Fields[] {
  return Array.isArray(value) && isObject(value[0]);
}
