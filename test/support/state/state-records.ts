/** The records of a state file, and a file of given records. */
import { gunzipSync, gzipSync } from 'node:zlib';

type Line = Record<string, unknown>;

export function linesOf(file: Buffer): string[] {
  return gunzipSync(file).toString('utf8').split('\n').slice(0, -1);
}

export function recordsOf(file: Buffer): readonly [header: Line, ...records: Line[]] {
  return linesOf(file).map((line) => JSON.parse(line) as Line) as [Line, ...Line[]];
}

export function encodeRecords(records: readonly Line[]): Buffer {
  return gzipSync(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
}
