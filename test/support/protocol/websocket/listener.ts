import { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import type { ReadingTask } from '../../../../src/limits/reading-share.ts';
import { EvictableBodies } from '../../../../src/limits/unfinished-bodies.ts';
import { FrameRate } from '../../../../src/protocol/websocket/frame-rate.ts';
import {
  type MessageReaderOptions,
  type UnreadReason,
  WebSocketMessageReader,
} from '../../../../src/protocol/websocket/message-reader.ts';

export type Told =
  | { readonly text: string }
  | { readonly unread: UnreadReason }
  | { readonly event: 'binary' | 'close' };

export const WITH_TAKEOVER = { contextTakeover: true, windowBits: 15 } as const;
export const WITHOUT_TAKEOVER = { contextTakeover: false, windowBits: 15 } as const;

const NO_LIMIT = { all: Number.POSITIVE_INFINITY, ofOne: Number.POSITIVE_INFINITY };

/** Reads everything at once, and has room and time for it, unless `options` say otherwise. */
export function readerOptions(options: Partial<MessageReaderOptions>): MessageReaderOptions {
  const { budget = new MemoryBudget() } = options;
  return {
    from: 'upstream',
    maxMessageBytes: 1_000_000,
    maxInflatedBytes: 4_000_000,
    deflate: undefined,
    budget,
    bodies: new EvictableBodies(budget),
    read: readNow,
    nowNs: () => 0,
    frameRate: new FrameRate({ nowNs: () => 0, epochMs: () => 0 }, NO_LIMIT),
    hasRoom: () => true,
    ...options,
  };
}

function readNow(reading: ReadingTask): void {
  while (reading.step());
}

export class Listener {
  readonly told: Told[] = [];
  readonly reader: WebSocketMessageReader;
  readonly budget: MemoryBudget;

  constructor(options: Partial<MessageReaderOptions> = {}) {
    this.budget = options.budget ?? new MemoryBudget();
    this.reader = new WebSocketMessageReader(readerOptions({ ...options, budget: this.budget }), {
      onText: (content) => void this.told.push({ text: content }),
      onBinary: () => this.told.push({ event: 'binary' }),
      onClose: () => this.told.push({ event: 'close' }),
      onUnread: (unread) => this.told.push({ unread }),
    });
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
}

export function told(bytes: Buffer, options: Partial<MessageReaderOptions> = {}): Told[] {
  return new Listener(options).push(bytes).told;
}
