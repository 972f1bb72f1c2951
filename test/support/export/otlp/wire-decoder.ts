/**
 * Reads requests of OTLP as protobuf, by the field numbers of opentelemetry-proto 1: the packages that write them have no reader for
 * requests. https://protobuf.dev/programming-guides/encoding/, https://github.com/open-telemetry/opentelemetry-proto
 */

class Message {
  /** Of each field; varints are numbers, as none of these exceeds 2^53. */
  readonly #values = new Map<number, (number | Buffer)[]>();

  constructor(bytes: Buffer) {
    let at = 0;
    const varint = (): number => {
      let value = 0;
      for (let unit = 1; ; unit *= 128) {
        const byte = bytes.readUInt8(at++);
        value += (byte & 0x7f) * unit;
        if (byte < 0x80) return value;
      }
    };
    const take = (length: number): Buffer => {
      if (at + length > bytes.length) throw new Error('broken off');
      at += length;
      return bytes.subarray(at - length, at);
    };
    while (at < bytes.length) {
      const tag = varint();
      const type = tag & 7;
      const value = type === 0 ? varint() : take(type === 2 ? varint() : type === 1 ? 8 : 4);
      this.#values.set(tag >> 3, [...(this.#values.get(tag >> 3) ?? []), value]);
    }
  }

  has(field: number): boolean {
    return this.#values.has(field);
  }

  integer(field: number): number {
    return (this.#values.get(field)?.at(-1) as number | undefined) ?? 0;
  }

  bytes(field: number): Buffer {
    return (this.#values.get(field)?.at(-1) as Buffer | undefined) ?? Buffer.alloc(0);
  }

  text(field: number): string {
    return new TextDecoder('utf-8', { fatal: true }).decode(this.bytes(field));
  }

  message(field: number): Message {
    return new Message(this.bytes(field));
  }

  messages(field: number): Message[] {
    return (this.#values.get(field) ?? []).map((bytes) => new Message(bytes as Buffer));
  }

  /** Packed. */
  doubles(field: number): number[] {
    const bytes = this.bytes(field);
    return Array.from({ length: bytes.length / 8 }, (_, i) => bytes.readDoubleLE(i * 8));
  }

  /** Packed fixed64. */
  fixed(field: number): bigint[] {
    const bytes = this.bytes(field);
    return Array.from({ length: bytes.length / 8 }, (_, i) => bytes.readBigUInt64LE(i * 8));
  }
}

type Attributes = Readonly<Record<string, string | number | boolean>>;

function toAttributes(pairs: readonly Message[]): Attributes {
  return Object.fromEntries(
    pairs.map((pair): [string, string | number | boolean] => {
      const value = pair.message(2);
      if (value.has(3)) return [pair.text(1), value.integer(3)];
      return [pair.text(1), value.has(4) ? (value.doubles(4)[0] as number) : value.text(1)];
    }),
  );
}

type Kind = 'gauge' | 'sum' | 'histogram' | 'exponential';
export type Metric = ReturnType<typeof toMetric>;
export type Span = ReturnType<typeof toSpan>;

const KINDS = [
  [5, 'gauge'],
  [7, 'sum'],
  [9, 'histogram'],
  [10, 'exponential'],
] as const;

/** The resource of an ExportMetricsServiceRequest or ExportTraceServiceRequest, and its items from all scopes. */
function toParts<Part>(request: Message, toPart: (part: Message) => Part): { resource: Attributes; parts: Part[] } {
  const [first] = request.messages(1);
  if (first === undefined) throw new Error('nothing in it');
  const parts = first.messages(2).flatMap((scope) => scope.messages(2).map(toPart));
  return { resource: toAttributes(first.message(1).messages(1)), parts };
}

export function toMetrics(body: Buffer): { readonly resource: Attributes; readonly metrics: Metric[] } {
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
  if (kind === 'gauge' || kind === 'sum') return { ...common, value: point.doubles(4)[0] as number };
  const total = { count: Number(point.fixed(4)[0]), sum: point.doubles(5)[0] as number };
  if (kind === 'histogram') {
    return { ...common, value: { ...total, counts: point.fixed(6).map(Number), bounds: point.doubles(7) } };
  }
  return { ...common, value: { ...total, scale: signed(point, 6), offset: signed(point.message(8), 1) } };
}

/** Of `sint32`: zigzag. */
function signed(message: Message, field: number): number {
  const value = message.integer(field);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

export function toSpans(body: Buffer): Span[] {
  return toParts(new Message(body), toSpan).parts;
}

function toSpan(span: Message) {
  return {
    ...{ traceId: span.bytes(1).toString('hex'), spanId: span.bytes(2).toString('hex') },
    ...{ parentSpanId: span.bytes(4).toString('hex'), name: span.text(5) },
    // Of the kind, 2 is SERVER; of the status, 0 is unset, 2 an error.
    ...{ kind: span.integer(6), startNs: span.fixed(7)[0] as bigint, endNs: span.fixed(8)[0] as bigint },
    ...{ attributes: toAttributes(span.messages(9)), status: span.message(15).integer(3) },
  };
}
