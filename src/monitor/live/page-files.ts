/**
 * The files of the live page in `dist/page`, each plain and compressed (`page.js`, `page.js.br`, `page.js.gz`). They
 * are read at the first request for the page, and kept: a few hundred KB. A request's path is never used as a path on
 * disk.
 */
import { createHash } from 'node:crypto';
import { loadProgramFile } from '../../base/program-files.ts';
import type { Coding } from '../accept-encoding.ts';

export interface PageFile {
  readonly mediaType: string;
  readonly plain: Buffer;
  readonly coded: ReadonlyMap<Coding, Buffer>;
  /** SHA-256 of the plain content, shortened, without quotes. */
  readonly hash: string;
}

/** By name, e.g. `page.js`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

export const PAGE = 'index.html';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  [PAGE]: 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

const ENDINGS = { br: '.br', gzip: '.gz' } as const satisfies Record<Coding, string>;

/** Enough of the SHA-256 to distinguish all versions. */
const HASH_CHARS = 22;

export class PageFolder {
  readonly #read: (name: string) => Promise<Buffer>;
  #files: PageFiles | undefined;

  /** `read` resolves to the bytes of a file of the built page, e.g. `page.js.br`, and rejects if it is missing. */
  constructor(read = (name: string) => loadProgramFile(`dist/page/${name}`)) {
    this.#read = read;
  }

  /** Undefined while there is no built page; each call then searches again. */
  async files(): Promise<PageFiles | undefined> {
    this.#files ??= await readFiles(this.#read).catch(() => undefined);
    return this.#files;
  }
}

/** Rejects if a file is missing. */
async function readFiles(read: (name: string) => Promise<Buffer>): Promise<PageFiles> {
  const files = new Map<string, PageFile>();
  for (const [name, mediaType] of Object.entries(MEDIA_TYPES)) {
    const plain = await read(name);
    const coded = new Map<Coding, Buffer>();
    for (const [coding, ending] of Object.entries(ENDINGS) as [Coding, string][]) {
      const bytes = await read(name + ending).catch(() => undefined);
      if (bytes !== undefined) coded.set(coding, bytes);
    }
    const hash = createHash('sha256').update(plain).digest('base64url').slice(0, HASH_CHARS);
    files.set(name, { mediaType, plain, coded, hash });
  }
  return files;
}
