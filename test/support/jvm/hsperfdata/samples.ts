/** Counters files of real JVMs, with the same JVM's MXBeans at that moment. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Counters, decodeCounters } from '../../../../src/jvm/hsperfdata/counters.ts';
import { parseLayout } from '../../../../src/jvm/hsperfdata/entries.ts';

const DIRECTORY = join(import.meta.dirname, '../../../fixtures/jvm/hsperfdata');

export const SAMPLES = ['jdk17', 'jdk25'].flatMap((jdk) =>
  ['serial', 'parallel', 'g1', 'z', 'shenandoah'].map((collector) => `${jdk}-${collector}`),
);

export function sampleBytes(name: string): Buffer {
  return readFileSync(join(DIRECTORY, `${name}.hsperf`));
}

export function countersOf(bytes: Buffer): Counters {
  const result = decodeCounters(bytes);
  if (result.kind !== 'counters') throw new Error(JSON.stringify(result));
  return result.counters;
}

/** What jcmd printed: `sun.gc.cause="No GC"`, `sun.gc.metaspace.used=1180464`. */
export function printedCounters(name: string): ReadonlyMap<string, string> {
  const lines = readFileSync(join(DIRECTORY, `${name}.perfcounter.txt`), 'utf8').split('\n');
  return new Map(
    lines
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

/** Where the value of a counter lies. */
export function entryOf(bytes: Buffer, name: string) {
  const result = parseLayout(bytes);
  const entry = result.kind === 'layout' ? result.entries.find((one) => one.name === name) : undefined;
  if (entry === undefined) throw new Error(`no ${name}`);
  return entry;
}

/** A copy in which a counter has another value. */
export function withNumber(bytes: Buffer, name: string, value: bigint): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeBigInt64LE(value, entryOf(bytes, name).dataOffset);
  return copy;
}

/** A copy in which a text has another value; it must fit. */
export function withText(bytes: Buffer, name: string, value: string): Buffer {
  const copy = Buffer.from(bytes);
  const { dataOffset, dataBytes } = entryOf(bytes, name);
  if (value.length > dataBytes) throw new Error(`${value} does not fit`);
  copy.fill(0, dataOffset, dataOffset + dataBytes);
  copy.write(value, dataOffset, 'latin1');
  return copy;
}

/** A copy with one more counter, a text, as HotSpot would append it. */
export function withEntry(bytes: Buffer, name: string, value: string): Buffer {
  const copy = Buffer.from(bytes);
  const used = copy.readInt32LE(8);
  const dataOffset = 20 + name.length + 1;
  const length = Math.ceil((dataOffset + value.length + 1) / 8) * 8;
  copy.fill(0, used, used + length);
  copy.writeInt32LE(length, used);
  copy.writeInt32LE(20, used + 4);
  copy.writeInt32LE(value.length + 1, used + 8);
  copy.write('B', used + 12, 'latin1');
  copy.writeUInt8(5, used + 14);
  copy.writeInt32LE(dataOffset, used + 16);
  copy.write(name, used + 20, 'latin1');
  copy.write(value, used + dataOffset, 'latin1');
  copy.writeInt32LE(used + length, 8);
  copy.writeInt32LE(copy.readInt32LE(28) + 1, 28);
  return copy;
}
