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

export interface MessageContents {
  /** Reads a message. Undefined: no further steps. */
  readContent(message: WholeMessage): FurtherSteps | undefined;
  /**
   * There was no time to read all of a message. `isContentLost`: it was not inflated, and later ones may refer to it.
   */
  passUnread(isContentLost: boolean): void;
  /** Called once for each message, after all other calls for it, even if reading it has thrown. */
  messageEnded(): void;
}

/** Memory of a waiting message besides its bytes, including its cost for the garbage collector. */
const OVERHEAD_BYTES = 1_024;

export class MessageReading implements ReadingTask {
  readonly #contents: MessageContents;
  readonly #memory: MemoryBudget;
  readonly #isCompressed: boolean;
  #message: WholeMessage | undefined;
  #further: FurtherSteps | undefined;
  #keptBytes = 0;

  /** `message.payload` needs to be valid only until `read` of the reading share has returned. */
  constructor(message: WholeMessage, contents: MessageContents, memory: MemoryBudget) {
    this.#isCompressed = message.isCompressed;
    this.#message = message;
    this.#contents = contents;
    this.#memory = memory;
  }

  step(): boolean {
    let isMore = false;
    try {
      isMore = this.#readOn();
    } finally {
      if (!isMore) this.#end();
    }
    return isMore;
  }

  #readOn(): boolean {
    const message = this.#message;
    this.#message = undefined;
    if (message === undefined) return this.#further?.() === true;
    this.#further = this.#contents.readContent(message);
    return this.#further !== undefined;
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
    const isContentLost = this.#message !== undefined;
    this.#message = undefined;
    this.#further = undefined;
    this.#contents.passUnread(isContentLost && this.#isCompressed);
    this.#end();
  }

  #end(): void {
    this.#memory.giveBack('bodies', this.#keptBytes);
    this.#keptBytes = 0;
    this.#contents.messageEnded();
  }
}
