import type { MemoryBudget } from '../../limits/memory-budget.ts';
import type { ReadingTask } from '../../limits/reading-share.ts';

/** The next step of a reading; false if it was the last. */
export type FurtherSteps = () => boolean;

export interface WholeMessage {
  /** Unmasked, but still compressed if `isCompressed`. */
  readonly payload: Buffer;
  readonly isText: boolean;
  readonly isCompressed: boolean;
  /** When its last byte passed, on the clock. */
  readonly atNs: number;
}

/** What reads whole messages. */
interface ContentReader {
  readContent(message: WholeMessage): FurtherSteps | undefined;
  /** There was no time to read all of it. `isContentLost`: it was not inflated, and later ones may refer to it. */
  passUnread(isContentLost: boolean): void;
  /** Called once for each message, after all other calls for it, even if reading it has thrown. */
  messageEnded(): void;
}

/** Memory of a waiting message besides its bytes, including its cost for the garbage collector. */
const OVERHEAD_BYTES = 1_024;

export class MessageReading implements ReadingTask {
  readonly #reader: ContentReader;
  readonly #memory: MemoryBudget;
  #message: WholeMessage | undefined;
  #further: FurtherSteps | undefined;
  #keptBytes = 0;

  /** `message.payload` needs to be valid only until `read` of the reading share has returned. */
  constructor(message: WholeMessage, reader: ContentReader, memory: MemoryBudget) {
    this.#message = message;
    this.#reader = reader;
    this.#memory = memory;
  }

  step(): boolean {
    const message = this.#message;
    this.#message = undefined;
    let isMore = false;
    try {
      if (message !== undefined) this.#further = this.#reader.readContent(message);
      isMore = message === undefined ? this.#further?.() === true : this.#further !== undefined;
    } finally {
      if (!isMore) this.#end();
    }
    return isMore;
  }

  keep(): number | undefined {
    const message = this.#message;
    const bytes = (message?.payload.length ?? 0) + OVERHEAD_BYTES;
    if (!this.#memory.take('bodies', bytes)) return undefined;
    this.#keptBytes = bytes;
    if (message !== undefined) this.#message = { ...message, payload: Buffer.from(message.payload) };
    return bytes;
  }

  giveUp(): void {
    const isContentLost = this.#message?.isCompressed === true;
    this.#message = undefined;
    this.#further = undefined;
    this.#reader.passUnread(isContentLost);
    this.#end();
  }

  #end(): void {
    this.#memory.giveBack('bodies', this.#keptBytes);
    this.#keptBytes = 0;
    this.#reader.messageEnded();
  }
}
