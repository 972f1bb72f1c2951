/**
 * Reads requests of OTLP as protobuf, by the field numbers of opentelemetry-proto 1: the packages that write them have no reader for
 * requests. https://protobuf.dev/programming-guides/encoding/, https://github.com/open-telemetry/opentelemetry-proto
 */

type Value = bigint | Uint8Array;

class Message {
  readonly #fields = new Map<number, Value[]>();

  constructor(bytes: Uint8Array) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    const varint = (): bigint => {
      let value = 0n;
      for (let shift = 0n; ; shift += 7n) {
        const byte = view.getUint8(at);
        at += 1;
        value |= BigInt(byte & 0x7f) << shift;
        if ((byte & 0x80) === 0) return value;
      }
    };
    const take = (length: number): Uint8Array => {
      if (at + length > bytes.length) throw new Error('broken off');
      at += length;
      return bytes.subarray(at - length, at);
    };
    while (at < bytes.length) {
      const tag = Number(varint());
      const type = tag & 7;
      const value = type === 0 ? varint() : take(type === 2 ? Number(varint()) : type === 1 ? 8 : 4);
      const values = this.#fields.get(tag >> 3);
      if (values === undefined) this.#fields.set(tag >> 3, [value]);
      else values.push(value);
    }
  }

  has(field: number): boolean {
    return this.#fields.has(field);
  }

  bytes(field: number): Uint8Array {
    return (this.#fields.get(field)?.at(-1) as Uint8Array | undefined) ?? new Uint8Array();
  }

  text(field: number): string {
    return new TextDecoder('utf-8', { fatal: true }).decode(this.bytes(field));
  }

  hex(field: number): string {
    return Buffer.from(this.bytes(field)).toString('hex');
  }

  integer(field: number): number {
    return Number((this.#fields.get(field)?.at(-1) as bigint | undefined) ?? 0n);
  }

  message(field: number): Message {
    return new Message(this.bytes(field));
  }

  messages(field: number): Message[] {
    return (this.#fields.get(field) ?? []).map((bytes) => new Message(bytes as Uint8Array));
  }

  double(field: number): number {
    return this.doubles(field)[0] as number;
  }

  /** Packed. */
  doubles(field: number): number[] {
    return eights(this.bytes(field)).map((view) => view.getFloat64(0, true));
  }

  /** Packed fixed64. */
  fixed(field: number): bigint[] {
    return eights(this.bytes(field)).map((view) => view.getBigUint64(0, true));
  }
}

function eights(bytes: Uint8Array): DataView[] {
  return Array.from({ length: bytes.length / 8 }, (_, i) => new DataView(bytes.buffer, bytes.byteOffset + i * 8, 8));
}

type Attributes = Readonly<Record<string, string | number | boolean>>;

function toAttributes(pairs: readonly Message[]): Attributes {
  return Object.fromEntries(
    pairs.map((pair) => {
      const value = pair.message(2);
      if (value.has(3)) return [pair.text(1), value.integer(3)];
      return [pair.text(1), value.has(4) ? value.double(4) : value.text(1)];
    }),
  );
}

type Kind = 'gauge' | 'sum' | 'histogram' | 'exponential';
export type Metric = ReturnType<typeof toMetric>;
export type Span = ReturnType<typeof toSpan>;

const KINDS = Object.entries({ 5: 'gauge', 7: 'sum', 9: 'histogram', 10: 'exponential' } as const).map(
  ([field, kind]) => [Number(field), kind] as const,
);

/** The resource of an ExportMetricsServiceRequest or ExportTraceServiceRequest, and its items from all scopes. */
function toParts<Part>(request: Message, toPart: (part: Message) => Part): { resource: Attributes; parts: Part[] } {
  const [first] = request.messages(1);
  if (first === undefined) throw new Error('nothing in it');
  const parts = first.messages(2).flatMap((scope) => scope.messages(2).map(toPart));
  return { resource: toAttributes(first.message(1).messages(1)), parts };
}

export function toMetrics(body: Uint8Array): { readonly resource: Attributes; readonly metrics: Metric[] } {
  const { resource, parts } = toParts(new Message(body), toMetric);
  return { resource, metrics: parts };
}

function toMetric(metric: Message) {
  const [field, kind] = KINDS.find(([number]) => metric.has(number)) ?? [0, 'gauge'];
  const data = metric.message(field);
  return {
    ...{ name: metric.text(1), description: metric.text(2), unit: metric.text(3), kind },
    // Of the temporality, 2 is cumulative.
    ...{ temporality: data.integer(2), isMonotonic: data.integer(3) === 1 },
    points: data.messages(1).map((point) => toPoint(point, kind)),
  };
}

function toPoint(point: Message, kind: Kind) {
  const attributes = toAttributes(point.messages({ histogram: 9, exponential: 1, gauge: 7, sum: 7 }[kind]));
  const common = { attributes, startNs: point.fixed(2)[0] as bigint };
  if (kind === 'gauge' || kind === 'sum') return { ...common, value: point.double(4) };
  const total = { count: Number(point.fixed(4)[0]), sum: point.double(5) };
  if (kind === 'histogram') {
    return { ...common, value: { ...total, counts: point.fixed(6).map(Number), bounds: point.doubles(7) } };
  }
  const [scale, offset] = [point.integer(6), point.message(8).integer(1)].map(fromZigZag) as [number, number];
  return { ...common, value: { ...total, scale, offset } };
}

/** Of `sint32`. */
function fromZigZag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

export function toSpans(body: Uint8Array): Span[] {
  return toParts(new Message(body), toSpan).parts;
}

function toSpan(span: Message) {
  return {
    ...{ traceId: span.hex(1), spanId: span.hex(2), parentSpanId: span.hex(4), name: span.text(5) },
    // Of the kind, 2 is SERVER; of the status, 0 is unset, 2 an error.
    ...{ kind: span.integer(6), startNs: span.fixed(7)[0] as bigint, endNs: span.fixed(8)[0] as bigint },
    ...{ attributes: toAttributes(span.messages(9)), status: span.message(15).integer(3) },
  };
}
