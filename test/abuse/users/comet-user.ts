import { setTimeout as sleep } from 'node:timers/promises';
import { HONEST_OBJECTS, OBJECT_PREFIX } from '../plant.ts';

export interface CometUserParts {
  readonly transport: 'long-polling' | 'websocket';
  /** Resolves to the text of the answer. */
  ask(text: string): Promise<string>;
  /** Called for each call that failed. */
  fail(cause: Error): void;
}

interface Reply {
  readonly channel?: string;
  readonly clientId?: string;
  readonly successful?: boolean;
}

const PAUSE_AFTER_FAILURE_MS = 100;

/** A Comet client that counts the values that it receives. */
export class CometUser {
  values = 0;
  readonly #parts: CometUserParts;
  #clientId: string | undefined;
  #isOn = true;

  constructor(parts: CometUserParts) {
    this.#parts = parts;
  }

  /** Handshake and subscriptions. */
  async connect(): Promise<void> {
    const supportedConnectionTypes = [this.#parts.transport];
    const [hello] = await this.#send({ channel: '/meta/handshake', version: '1.0', supportedConnectionTypes });
    this.#clientId = hello?.clientId;
    const subscription = HONEST_OBJECTS.map((name) => `${OBJECT_PREFIX}${name}`);
    const [subscribed] = await this.#send({ channel: '/meta/subscribe', subscription });
    if (subscribed?.successful !== true) throw new Error('the honest Comet user was refused');
  }

  /** Connects in a loop until `stop`. */
  async poll(): Promise<void> {
    while (this.#isOn) {
      try {
        const replies = await this.#send({ channel: '/meta/connect', connectionType: this.#parts.transport });
        this.values += replies.filter(({ channel }) => channel?.startsWith(OBJECT_PREFIX)).length;
      } catch (cause) {
        this.#parts.fail(cause as Error);
        await sleep(PAUSE_AFTER_FAILURE_MS);
      }
    }
  }

  stop(): void {
    this.#isOn = false;
  }

  async #send(message: Readonly<Record<string, unknown>>): Promise<readonly Reply[]> {
    const body = JSON.stringify([{ id: '1', ...message, ...(this.#clientId && { clientId: this.#clientId }) }]);
    return JSON.parse(await this.#parts.ask(body)) as Reply[];
  }
}
