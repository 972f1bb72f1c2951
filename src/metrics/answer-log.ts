/** A call as statistics count it, e.g. `{ kind: 'rpc', name: 'E.Demo.TestInOut' }`. */
export interface TimedCall {
  readonly kind: 'rpc' | 'sba';
  readonly name: string;
  /** A place for the statistics of an application, which find there what a call that comes again is counted on. */
  countedOn?: object | undefined;
}

/** Of a log, at first and once that has been full: 0.4 KB for each session that makes calls, 1.6 KB for each that makes many. */
const FIRST_CAPACITY = 16;
const CAPACITY = 64;
/** Duration and moment. */
const NUMBERS = 2;

/**
 * Calls without an error, of the client or the server, that are noted and not yet counted. A session's timers lie in some dozens
 * of cache lines, and hardly one of them is still in the processor's cache when its user comes again after 10,000 others. A note
 * takes two or three; then some dozens of calls are counted together (test/bench/record.bench.ts).
 */
export class AnswerLog {
  #calls = toCalls(FIRST_CAPACITY);
  #numbers = toNumbers(FIRST_CAPACITY);
  #length = 0;

  get isFull(): boolean {
    return this.#length === this.#calls.length;
  }

  /** Only while it is not full. */
  add(call: TimedCall, durationNs: number, nowNs: number): void {
    const at = this.#length * NUMBERS;
    this.#calls[this.#length] = call;
    this.#numbers[at] = durationNs;
    this.#numbers[at + 1] = nowNs;
    this.#length += 1;
  }

  /** Hands over what was noted, in that order, and is empty again. */
  drain(count: (call: TimedCall, durationNs: number, nowNs: number) => void): void {
    const length = this.#length;
    this.#length = 0;
    for (let i = 0; i < length; i += 1) {
      const at = i * NUMBERS;
      count(this.#calls[i] as TimedCall, this.#numbers[at] as number, this.#numbers[at + 1] as number);
    }
    if (length < this.#calls.length || length === CAPACITY) return;
    // It was full for the first time: whoever calls that often gets a longer one.
    this.#calls = toCalls(CAPACITY);
    this.#numbers = toNumbers(CAPACITY);
  }
}

function toCalls(capacity: number): (TimedCall | undefined)[] {
  return new Array<TimedCall | undefined>(capacity).fill(undefined);
}

/** Doubles from the start: an array of small integers would be copied when the first duration comes. */
function toNumbers(capacity: number): number[] {
  return new Array<number>(capacity * NUMBERS).fill(Number.NaN);
}
