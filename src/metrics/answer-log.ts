/** A call that the statistics count, e.g. `{ kind: 'rpc', name: 'E.Demo.TestInOut' }`. */
export interface TimedCall {
  readonly kind: 'rpc' | 'sba';
  readonly name: string;
  /** Where the statistics of an application cache the entry of a call that is recorded again. */
  countedOn?: object | undefined;
}

/** Capacity at first, and once a log has been full: 0.4 KB per session that makes calls, 1.6 KB per busy one. */
const FIRST_CAPACITY = 16;
const CAPACITY = 64;
/** Per call: its duration and its moment. */
const NUMBERS = 2;

/**
 * A buffer of calls without an error that are not counted yet. The timers of a session occupy some dozens of cache
 * lines, and after the calls of 10,000 other sessions hardly any is still in the processor's cache. Adding a call
 * touches two or three lines; some dozens of calls are then counted together (test/bench/record.bench.ts).
 */
export class AnswerLog {
  #calls = toCalls(FIRST_CAPACITY);
  #numbers = toNumbers(FIRST_CAPACITY);
  #length = 0;

  get isFull(): boolean {
    return this.#length === this.#calls.length;
  }

  /** Must not be called while `isFull`. */
  add(call: TimedCall, durationNs: number, nowNs: number): void {
    const at = this.#length * NUMBERS;
    this.#calls[this.#length] = call;
    this.#numbers[at] = durationNs;
    this.#numbers[at + 1] = nowNs;
    this.#length += 1;
  }

  /** Passes the calls to `count` in the order of `add` and empties the log. */
  drain(count: (call: TimedCall, durationNs: number, nowNs: number) => void): void {
    const length = this.#length;
    this.#length = 0;
    for (let i = 0; i < length; i += 1) {
      const at = i * NUMBERS;
      count(this.#calls[i] as TimedCall, this.#numbers[at] as number, this.#numbers[at + 1] as number);
    }
    if (length < this.#calls.length || length === CAPACITY) return;
    // Full for the first time: this session calls often enough for a longer log.
    this.#calls = toCalls(CAPACITY);
    this.#numbers = toNumbers(CAPACITY);
  }
}

function toCalls(capacity: number): (TimedCall | undefined)[] {
  return new Array<TimedCall | undefined>(capacity).fill(undefined);
}

/** NaN makes V8 store doubles at once; an array of small integers is copied when the first duration arrives. */
function toNumbers(capacity: number): number[] {
  return new Array<number>(capacity * NUMBERS).fill(Number.NaN);
}
