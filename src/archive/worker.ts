/** The thread that has the file of the history: answers the calls of `Thread` one after the other. */
import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { openArchiveFile, type Refused, setAside } from './archive-file.ts';
import { type Database, describeSqlError, isDamage, openDatabase } from './sqlite.ts';
import { Store } from './store.ts';
import type { Answer, Call, WorkerOptions } from './thread.ts';

class Server {
  readonly #options: WorkerOptions;
  #opened: { readonly database: Database; readonly store: Store } | undefined;
  /** The last file that was set aside. */
  refused: Refused | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** Damage is found when a page is read: the file is set aside, and the call is repeated on a new one. */
  call(name: Call['name'], args: readonly never[]): unknown {
    try {
      return this.#call(name, args);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#close();
      this.#use(setAside(this.#options.file, 'damaged'));
      return this.#call(name, args);
    }
  }

  #call(name: Call['name'], args: readonly never[]): unknown {
    if (name === 'close') return this.#close();
    if (name === 'backup') return backUp(this.#options.file, String(args[0]));
    const { store } = this.#opened ?? this.#use(openArchiveFile(this.#options.file));
    return store[name](...(args as unknown as [never, never, never]));
  }

  #use({ database, refused }: ReturnType<typeof openArchiveFile>) {
    this.refused = refused;
    this.#opened = { database, store: new Store(database, this.#options) };
    return this.#opened;
  }

  #close(): void {
    const { database } = this.#opened ?? {};
    this.#opened = undefined;
    database?.close();
  }
}

/** `to` is empty. Returns its size in bytes. */
function backUp(from: string, to: string): number {
  const database = openDatabase(from);
  try {
    database.prepare('VACUUM INTO ?').run(to);
  } finally {
    database.close();
  }
  return statSync(to).size;
}

const server = new Server(workerData as WorkerOptions);

function answer({ name, args }: Call): Answer {
  try {
    return { value: server.call(name, args) };
  } catch (error) {
    return { error: describeSqlError(error) };
  }
}

parentPort?.on('message', (call: Call) => {
  const answered = answer(call);
  parentPort?.postMessage({ ...answered, refused: server.refused });
  server.refused = undefined;
});
