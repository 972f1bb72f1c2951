import { constants, createDeflateRaw, deflateRawSync } from 'node:zlib';
import { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import { OPCODE } from '../../../../src/protocol/websocket/frame-head.ts';
import {
  type MessageReaderOptions,
  type UnreadReason,
  WebSocketMessageReader,
} from '../../../../src/protocol/websocket/message-reader.ts';

export interface FrameParts {
  readonly opcode: number;
  readonly payload?: Buffer | string;
  readonly fin?: boolean;
  /** RSV1 = 4, RSV2 = 2, RSV3 = 1. */
  readonly rsv?: number;
  /** The masking key; none: not masked. */
  readonly mask?: readonly number[];
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
  const { mask } = parts;
  if (mask === undefined) return Buffer.concat([Buffer.from(head), payload]);
  const masked = payload.map((byte, i) => byte ^ (mask[i % 4] as number));
  return Buffer.concat([Buffer.from([...head, ...mask]), masked]);
}

export const text = (payload: Buffer | string, more: Partial<FrameParts> = {}): Buffer =>
  frame({ opcode: OPCODE.text, payload, ...more });
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

export type Told =
  | { readonly text: string }
  | { readonly unread: UnreadReason }
  | { readonly event: 'binary' | 'close' };

export const WITH_TAKEOVER = { contextTakeover: true, windowBits: 15 } as const;
export const WITHOUT_TAKEOVER = { contextTakeover: false, windowBits: 15 } as const;

export class Listener {
  readonly told: Told[] = [];
  readonly reader: WebSocketMessageReader;
  readonly budget: MemoryBudget;

  constructor(options: Partial<MessageReaderOptions> = {}) {
    this.budget = options.budget ?? new MemoryBudget();
    this.reader = new WebSocketMessageReader(
      {
        from: 'upstream',
        maxMessageBytes: 1_000_000,
        maxInflatedBytes: 4_000_000,
        deflate: undefined,
        budget: this.budget,
        ...options,
      },
      {
        onText: (content) => void this.told.push({ text: content }),
        onBinary: () => this.told.push({ event: 'binary' }),
        onClose: () => this.told.push({ event: 'close' }),
        onUnread: (unread) => this.told.push({ unread }),
      },
    );
  }

  get texts(): string[] {
    return this.told.flatMap((told) => ('text' in told ? [told.text] : []));
  }

  /** Pushes copies, and overwrites each after its call: the reader must not keep them. */
  push(...chunks: readonly Buffer[]): this {
    for (const chunk of chunks) {
      const copy = Buffer.from(chunk);
      this.reader.push(copy);
      if (!copy.equals(chunk)) throw new Error('the reader changed what passes');
      copy.fill(0xee);
    }
    return this;
  }

  pushPieces(bytes: Buffer, sizeOfNext: () => number): this {
    for (let at = 0; at < bytes.length; ) {
      const size = Math.max(1, sizeOfNext());
      this.push(bytes.subarray(at, at + size));
      at += size;
    }
    return this;
  }
}

export function told(bytes: Buffer, options: Partial<MessageReaderOptions> = {}): Told[] {
  return new Listener(options).push(bytes).told;
}
