/** The records of a state file as objects, whatever its layout, and the text of a file of the current layout. */
import { createHash } from 'node:crypto';
import { RowReader, RowWriter } from '../../../src/state/rows.ts';
import { LAYOUT } from '../../../src/state/state-file.ts';

type Line = Record<string, unknown>;

export function recordsOf(text: string): readonly [header: Line, ...records: Line[]] {
  const [header = '', ...lines] = text.split('\n').slice(0, -1);
  const rows = new RowReader();
  const parsed = JSON.parse(header) as Line;
  const records = lines.flatMap((line) => {
    const record: unknown = JSON.parse(line);
    const fields = parsed.layout === LAYOUT ? rows.toRecord(record) : record;
    // As JSON makes it, so that a test may change it.
    return fields === undefined ? [] : [JSON.parse(JSON.stringify(fields)) as Line];
  });
  return [parsed, ...records];
}

/** In rows, or as objects in lines for a header of layout 3. */
export function toText([header, ...records]: readonly Line[]): string {
  const rows = new RowWriter();
  const lines = records.map((record) =>
    header?.layout === LAYOUT ? rows.toLines(record) : `${JSON.stringify(record)}\n`,
  );
  const text = `${JSON.stringify(header)}\n${lines.join('')}`;
  return `${text}${createHash('sha256').update(text).digest('hex')}`;
}
