/** WebSocket frames (RFC 6455 section 5.2), whole messages only; independent of the sidecar's own code. */
export const OPCODES = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
}

const MAX_FRAME_BYTES = 4 * 1024 * 1024;

/** `mask`: the client's masking key; a server has none. */
export function toFrame(opcode: number, payload: Buffer, mask?: number): Buffer {
  const { length } = payload;
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const maskBytes = mask === undefined ? 0 : 4;
  const frame = Buffer.alloc(2 + lengthBytes + maskBytes + length);
  frame[0] = 0x80 | opcode;
  frame[1] = (mask === undefined ? 0 : 0x80) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) frame.writeUInt16BE(length, 2);
  if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  const at = 2 + lengthBytes + maskBytes;
  payload.copy(frame, at);
  if (mask === undefined) return frame;
  frame.writeUInt32BE(mask >>> 0, at - 4);
  applyMask(frame, at - 4, at);
  return frame;
}

/** Cuts a stream into frames. `isMasked`: whether they must be masked. Throws for malformed frames. */
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

  *read(chunk: Buffer): Generator<Frame> {
    this.#kept = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) yield frame;
  }

  #next(): Frame | undefined {
    const bytes = this.#kept;
    const [first, second] = bytes;
    if (first === undefined || second === undefined) return undefined;
    const short = second & 0x7f;
    const lengthBytes = short < 126 ? 0 : short === 126 ? 2 : 8;
    const payloadAt = 2 + lengthBytes + (this.#isMasked ? 4 : 0);
    if ((first & 0xf0) !== 0x80 || second >> 7 !== Number(this.#isMasked))
      throw new Error('unexpected flags or masking of a frame');
    if (bytes.length < payloadAt) return undefined;
    const length =
      lengthBytes === 0 ? short : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (length > MAX_FRAME_BYTES) throw new Error(`a frame of ${length} bytes`);
    if (bytes.length < payloadAt + length) return undefined;
    const frame = Buffer.from(bytes.subarray(0, payloadAt + length));
    if (this.#isMasked) applyMask(frame, payloadAt - 4, payloadAt);
    this.#kept = bytes.subarray(payloadAt + length);
    return { opcode: first & 0x0f, payload: frame.subarray(payloadAt) };
  }
}

function applyMask(frame: Buffer, maskAt: number, from: number): void {
  for (let i = from; i < frame.length; i += 1) {
    frame[i] = (frame[i] ?? 0) ^ (frame[maskAt + ((i - from) & 3)] ?? 0);
  }
}
