import { createHash } from 'node:crypto';

/** Keeps the result of the last call, also a failure: watched files are read every two seconds, and deriving a key is costly. */
export class LastResult<T> {
  #id: string | undefined;
  #result: Promise<T> | undefined;

  /** Calls `create` if `parts` differ from those of the last call. */
  of(parts: readonly (string | Buffer)[], create: () => Promise<T>): Promise<T> {
    const hash = createHash('sha256');
    for (const part of parts) hash.update(`${part.length}:`).update(part);
    const id = hash.digest('base64');
    if (this.#result === undefined || id !== this.#id) {
      this.#id = id;
      this.#result = create();
    }
    return this.#result;
  }
}
