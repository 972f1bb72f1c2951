/**
 * The files of the live page in `dist/page`, each plain and compressed (`page.js`, `page.js.br`, `page.js.gz`). They
 * are read at the first request for the page, and kept: a few hundred KB. Only files that were in the folder then are
 * served, so a request's path is never used as a path on disk.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
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

/** A folder without these is not the built page: `src/page` has an index.html, too. */
const NEEDED = [PAGE, 'page.js', 'page.css'];

/** Next to the built program, next to its chunks, and the build folder of the sources. */
const FOLDERS = ['./page/', '../page/', '../../../dist/page/'];

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const ENDINGS = { br: '.br', gzip: '.gz' } as const satisfies Record<Coding, string>;

/** Enough of the SHA-256 to distinguish all versions. */
const HASH_CHARS = 22;

export function defaultFolders(): readonly string[] {
  return FOLDERS.map((folder) => fileURLToPath(new URL(folder, import.meta.url)));
}

export class PageFolder {
  readonly #folders: readonly string[];
  #files: PageFiles | undefined;

  /** Uses the first folder that holds the page. */
  constructor(folders: readonly string[] = defaultFolders()) {
    this.#folders = folders;
  }

  /** Undefined while there is no built page; each call then searches again. */
  async files(): Promise<PageFiles | undefined> {
    for (const folder of this.#folders) this.#files ??= await readFiles(folder).catch(() => undefined);
    return this.#files;
  }
}

/** Undefined if the folder is not the built page. Rejects if it cannot be read. */
async function readFiles(folder: string): Promise<PageFiles | undefined> {
  const names = await readdir(folder);
  if (!NEEDED.every((name) => names.includes(name))) return undefined;
  const files = new Map<string, PageFile>();
  for (const name of names) {
    const mediaType = MEDIA_TYPES[path.extname(name)];
    if (mediaType === undefined) continue;
    const plain = await readFile(path.join(folder, name));
    const coded = new Map<Coding, Buffer>();
    for (const [coding, ending] of Object.entries(ENDINGS) as [Coding, string][]) {
      if (names.includes(name + ending)) coded.set(coding, await readFile(path.join(folder, name + ending)));
    }
    const hash = createHash('sha256').update(plain).digest('base64url').slice(0, HASH_CHARS);
    files.set(name, { mediaType, plain, coded, hash });
  }
  return files;
}
