import dns from 'node:dns';
import { onTestFinished, vi } from 'vitest';

/** The name that it resolves; the system resolves all others. */
export const NAME = 'plant.example';

export type Answer = (cause: Error | null, addresses?: unknown, family?: number) => void;

/** Replaces the system's resolver for that one name, until the test is over. Silent until `answer` is called. */
export class FakeResolver {
  asked = 0;
  answer: (answer: Answer, isAll: boolean) => void = (answer) => this.#waiting.push(answer);
  readonly #waiting: Answer[] = [];

  constructor() {
    onTestFinished(() => void vi.restoreAllMocks());
    const resolve = dns.lookup as unknown as (...parameters: unknown[]) => void;
    vi.spyOn(dns, 'lookup').mockImplementation(((name: string, ...rest: unknown[]) => {
      if (name !== NAME) {
        resolve(name, ...rest);
        return;
      }
      this.asked += 1;
      const [options, callback] = rest as [{ readonly all?: boolean }, Answer];
      const isAll = options.all === true;
      process.nextTick(() => this.answer(callback, isAll));
    }) as never);
  }

  readonly loopback = (answer: Answer, isAll: boolean): void => {
    if (isAll) answer(null, [{ address: '127.0.0.1', family: 4 }]);
    else answer(null, '127.0.0.1', 4);
  };

  release(): void {
    for (const answer of this.#waiting.splice(0)) this.loopback(answer, true);
  }
}

export function failing(code: string): (answer: Answer) => void {
  return (answer) => answer(Object.assign(new Error(`getaddrinfo ${code} ${NAME}`), { code }));
}
