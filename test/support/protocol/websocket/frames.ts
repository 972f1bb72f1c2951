/** WebSocket frames (RFC 6455 section 5.2) and compressed messages (RFC 7692), independent of the sidecar's own code. */
import { constants, createDeflateRaw, deflateRawSync } from 'node:zlib';

export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

const MAX_FRAME_BYTES = 4 * 1024 * 1024;

export interface FrameParts {
  readonly opcode: number;
  readonly payload?: Buffer | string;
  readonly fin?: boolean;
  /** RSV1 = 4, RSV2 = 2, RSV3 = 1. */
  readonly rsv?: number;
  /** The masking key; none: not masked. */
  readonly mask?: ArrayLike<number>;
  /** Bytes of the length field's extension, if more than needed. */
  readonly lengthBytes?: 0 | 2 | 8;
  readonly announced?: bigint;
}

export const MASK = [0x37, 0xfa, 0x21, 0x3d] as const;

/** One frame, written byte by byte as RFC 6455 §5.2 draws it. */
export function frame(parts: FrameParts): Buffer {
  const payload = Buffer.from(parts.payload ?? '');
  const length = parts.announced ?? BigInt(payload.length);
  const lengthBytes = parts.lengthBytes ?? (length < 126n ? 0 : length < 65_536n ? 2 : 8);
  const head = [((parts.fin ?? true) ? 0x80 : 0) | ((parts.rsv ?? 0) << 4) | parts.opcode];
  head.push((parts.mask ? 0x80 : 0) | (lengthBytes === 0 ? Number(length) : lengthBytes === 2 ? 126 : 127));
  for (let i = lengthBytes - 1; i >= 0; i -= 1) head.push(Number((length >> BigInt(8 * i)) & 0xffn));
  if (parts.mask === undefined) return Buffer.concat([Buffer.from(head), payload]);
  return Buffer.concat([Buffer.from([...head, ...Array.from(parts.mask)]), masked(payload, parts.mask)]);
}

function masked(payload: Buffer, mask: ArrayLike<number>): Buffer {
  return Buffer.from(payload.map((byte, i) => byte ^ (mask[i % 4] as number)));
}

export const text = (payload: Buffer | string, more: Partial<FrameParts> = {}): Buffer =>
  frame({ opcode: OPCODES.text, payload, ...more });
export const clientText = (payload: Buffer | string): Buffer => text(payload, { mask: MASK });
export const compressed = (payload: Buffer | string): Buffer => text(payload, { rsv: 4 });

/** A message's compressed payload by itself, as RFC 7692 §7.2.1 says. */
export function deflated(content: Buffer | string): Buffer {
  return deflateRawSync(content, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
}

/** One after the other, each referring to the ones before. */
export async function deflatedTogether<const T extends readonly string[]>(contents: T, windowBits = 15) {
  const deflate = createDeflateRaw({ windowBits });
  const chunks: Buffer[] = [];
  deflate.on('data', (chunk: Buffer) => chunks.push(chunk));
  const payloads: Buffer[] = [];
  for (const content of contents) {
    deflate.write(content);
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, () => resolve()));
    payloads.push(Buffer.concat(chunks.splice(0)).subarray(0, -4));
  }
  deflate.destroy();
  return payloads as { [I in keyof T]: Buffer };
}

/** Like `deflated`, but as one block with BFINAL set, as in RFC 7692 §7.2.3.4. */
export const deflatedFinal = (content: Buffer | string): Buffer => deflateRawSync(content);

/** Cuts a stream into frames, whole messages only. `isMasked`: whether they must be masked. Throws for malformed frames. */
export class FrameReader {
  readonly #isMasked: boolean;
  #kept: Buffer = Buffer.alloc(0);

  constructor(isMasked: boolean) {
    this.#isMasked = isMasked;
  }

  /** Whether an incomplete frame is buffered. */
  get hasBegun(): boolean {
    return this.#kept.length > 0;
  }

  *read(chunk: Buffer): Generator<{ readonly opcode: number; readonly payload: Buffer }> {
    this.#kept = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) yield frame;
  }

  #next() {
    const bytes = this.#kept;
    const [first, second] = bytes;
    if (first === undefined || second === undefined) return undefined;
    if ((first & 0xf0) !== 0x80 || second >> 7 !== Number(this.#isMasked))
      throw new Error('unexpected flags or masking of a frame');
    const short = second & 0x7f;
    const lengthBytes = short < 126 ? 0 : short === 126 ? 2 : 8;
    const payloadAt = 2 + lengthBytes + (this.#isMasked ? 4 : 0);
    if (bytes.length < payloadAt) return undefined;
    const length =
      lengthBytes === 0 ? short : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (length > MAX_FRAME_BYTES) throw new Error(`a frame of ${length} bytes`);
    if (bytes.length < payloadAt + length) return undefined;
    const payload = Buffer.from(bytes.subarray(payloadAt, payloadAt + length));
    this.#kept = bytes.subarray(payloadAt + length);
    return { opcode: first & 0x0f, payload: this.#isMasked ? masked(payload, bytes.subarray(payloadAt - 4)) : payload };
  }
}
