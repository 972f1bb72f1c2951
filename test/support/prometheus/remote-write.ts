/**
 * Bodies of Prometheus' remote write 1.0, with samples and native histograms: Debian's Prometheus takes native histograms
 * only that way and in protobuf scrapes. https://prometheus.io/docs/specs/prw/remote_write_spec/, and prompb/types.proto.
 */
import type { ExponentialReading } from '../../../src/base/metric-description.ts';

export interface NativeHistogram {
  readonly buckets: ExponentialReading;
  readonly sum: number;
}

export interface WrittenSeries {
  /** `__name__` included. */
  readonly labels: Readonly<Record<string, string>>;
  readonly samples: readonly { readonly atMs: number; readonly value: number | NativeHistogram }[];
}

/** Throws if Prometheus refuses it. */
export async function remoteWrite(origin: string, series: readonly WrittenSeries[]): Promise<void> {
  const answer = await fetch(`${origin}/api/v1/write`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' },
      'x-prometheus-remote-write-version': '0.1.0',
    },
    body: new Uint8Array(encodeSnappy(message(series.map((each) => field(1, encodeSeries(each)))))),
  });
  if (!answer.ok) throw new Error(`remote write: ${answer.status} ${await answer.text()}`);
}

function encodeSeries({ labels, samples }: WrittenSeries): Buffer {
  // Sorted, as Prometheus requires.
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return message([
    ...sorted.map(([name, value]) => field(1, message([field(1, Buffer.from(name)), field(2, Buffer.from(value))]))),
    ...samples.map(({ atMs, value }) =>
      typeof value === 'number'
        ? field(2, message([double(1, value), number(2, atMs)]))
        : field(4, encodeHistogram(atMs, value)),
    ),
  ]);
}

function encodeHistogram(
  atMs: number,
  { buckets: { scale, zeroCount, offset, counts }, sum }: NativeHistogram,
): Buffer {
  const deltas = counts.map((count, i) => count - (counts[i - 1] ?? 0));
  const count = counts.reduce((all, each) => all + each, zeroCount);
  // Prometheus numbers a bucket by its upper bound, OpenTelemetry by its lower one.
  const span = message([number(1, zigzag(offset + 1)), number(2, counts.length)]);
  return message([
    ...[number(1, count), double(3, sum), number(4, zigzag(scale)), double(5, 1e-6), number(6, zeroCount)],
    ...(counts.length === 0 ? [] : [field(11, span), field(12, message(deltas.map((each) => varint(zigzag(each)))))]),
    number(15, atMs),
  ]);
}

const message = (parts: readonly Buffer[]) => Buffer.concat(parts);
const zigzag = (value: number) => (value < 0 ? -2 * value - 1 : 2 * value);

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

const number = (tag: number, value: number) => Buffer.concat([varint(tag * 8), varint(value)]);
const field = (tag: number, bytes: Buffer) => Buffer.concat([varint(tag * 8 + 2), varint(bytes.length), bytes]);

function double(tag: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint(tag * 8 + 1), bytes]);
}

/** Literals only: https://github.com/google/snappy/blob/main/format_description.txt */
function encodeSnappy(bytes: Buffer): Buffer {
  const parts = [varint(bytes.length)];
  for (let at = 0; at < bytes.length; at += 65_536) {
    const piece = bytes.subarray(at, at + 65_536);
    // The tag of a literal whose length, less one, is in the next two bytes.
    const head = Buffer.from([61 << 2, 0, 0]);
    head.writeUInt16LE(piece.length - 1, 1);
    parts.push(head, piece);
  }
  return Buffer.concat(parts);
}
