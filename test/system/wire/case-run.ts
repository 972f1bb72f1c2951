import type { Message } from './message-reader.ts';

/** How a side's connection was ended by its peer, as far as it has been. */
export type EndingSeen = 'open' | 'fin' | 'reset';

/** What both ends of one run of one case share: its token, what came to the upstream, and where to wait for it. */
export class CaseRun {
  /** Carried in each request as `X-Case`, so that one upstream serves many runs at once. */
  readonly token: string;
  readonly requests: Message[] = [];
  readonly upstreamConnections: { readonly ending: EndingSeen; readonly raw: string; readonly tunnel: string }[] = [];
  /** What the ends saw that is not in a message, e.g. WebSocket messages; compared like the rest. */
  readonly notes: string[] = [];
  /** Offset at which the client's or the upstream's bytes are sent in two segments. */
  readonly splitRequestAt: number | undefined;
  readonly splitResponseAt: number | undefined;
  failure: unknown;
  readonly #waiters = new Set<() => void>();

  constructor(token: string, split: { readonly request?: number; readonly response?: number } = {}) {
    this.token = token;
    this.splitRequestAt = split.request;
    this.splitResponseAt = split.response;
  }

  notify(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }

  /** Resolves once `condition` holds, which is looked at again at each `notify`. Unbounded: the case has a deadline. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.#waiters.delete(look);
        resolve();
      };
      this.#waiters.add(look);
      look();
    });
  }

  note(text: string): void {
    this.notes.push(text);
    this.notify();
  }
}
