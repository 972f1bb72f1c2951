import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import path from 'node:path';

/** One answer as record-answers.mjs writes it. */
export interface RecordedAnswer {
  /** Undefined for answers to malformed requests. */
  readonly method?: string;
  /** As in the request line. */
  readonly target?: string;
  /** Status line and fields, e.g. `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n`. */
  readonly head: string;
  /** False: it was cut off. */
  readonly isWhole: boolean;
  readonly applications: readonly string[];
  /** Empty for answers to HEAD. */
  readonly content: Buffer;
}

type Line = Omit<RecordedAnswer, 'content'> & { readonly bytes: number };

const LINE_END = 10;

/** Reads the records of all processes in a folder, each once. */
export class RecordedAnswers {
  readonly #folder: string;
  /** How many bytes of each file have been read. */
  readonly #offsets = new Map<string, number>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The records since the last call. */
  takeNew(): RecordedAnswer[] {
    return readdirSync(this.#folder).flatMap((name) => this.#takeNewOf(name));
  }

  #takeNewOf(name: string): RecordedAnswer[] {
    const offset = this.#offsets.get(name) ?? 0;
    const bytes = readFrom(path.join(this.#folder, name), offset);
    const answers: RecordedAnswer[] = [];
    let at = 0;
    for (;;) {
      const lineEnd = bytes.indexOf(LINE_END, at);
      if (lineEnd < 0) break;
      const { bytes: length, ...answer } = JSON.parse(bytes.toString('utf8', at, lineEnd)) as Line;
      const end = lineEnd + 1 + length;
      // The rest of it is about to be written.
      if (bytes[end] === undefined) break;
      answers.push({ ...answer, content: bytes.subarray(lineEnd + 1, end) });
      at = end + 1;
    }
    this.#offsets.set(name, offset + at);
    return answers;
  }
}

function readFrom(file: string, offset: number): Buffer {
  const fd = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(Math.max(0, fstatSync(fd).size - offset));
    const length = bytes.length === 0 ? 0 : readSync(fd, bytes, 0, bytes.length, offset);
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}
