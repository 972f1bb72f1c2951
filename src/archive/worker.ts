/** The thread that has the file of the history: answers the calls of `Thread` one after the other. */
import { parentPort, workerData } from 'node:worker_threads';
import { openArchiveFile, type Refused, setAside } from './archive-file.ts';
import { type Database, describeSqlError, isDamage } from './sqlite.ts';
import { Store } from './store.ts';
import type { Answer, Call, WorkerOptions } from './thread.ts';

class Server {
  readonly #options: WorkerOptions;
  #database: Database | undefined;
  #store: Store | undefined;
  #refused: Refused | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  answer({ name, args }: Call): Answer {
    this.#refused = undefined;
    try {
      return { value: this.#call(name, args), refused: this.#refused };
    } catch (error) {
      return { error: describeSqlError(error), refused: this.#refused };
    }
  }

  /** Damage is found when a page is read: the file is set aside, and the call is repeated on a new one. */
  #call(name: Call['name'], args: readonly never[]): unknown {
    if (name === 'close') return this.#close();
    const { file, isAside } = this.#options;
    const callOn = (store: Store) => store[name](...(args as unknown as [never, never, never]));
    try {
      return callOn(this.#store ?? this.#use(openArchiveFile(file)));
    } catch (error) {
      if (isAside || !isDamage(error)) throw error;
      this.#close();
      return callOn(this.#use(setAside(file, 'damaged')));
    }
  }

  #use({ database, refused }: ReturnType<typeof openArchiveFile>): Store {
    this.#refused = refused;
    this.#database = database;
    this.#store = new Store(database, this.#options);
    return this.#store;
  }

  #close(): void {
    const database = this.#database;
    this.#database = undefined;
    this.#store = undefined;
    database?.close();
  }
}

const server = new Server(workerData as WorkerOptions);
parentPort?.on('message', (call: Call) => parentPort?.postMessage(server.answer(call)));
