/**
 * The files of the live page as the build leaves them in `dist/page`, each plain and compressed (`page.js`, `page.js.br`, `page.js.gz`).
 * Read when the page is first asked for, and kept: a few hundred KB. What is served is what was in the folder then, so that no path of a
 * request ever leads to a file.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Coding } from '../accept-encoding.ts';

export interface PageFile {
  readonly mediaType: string;
  readonly plain: Buffer;
  readonly coded: ReadonlyMap<Coding, Buffer>;
  /** Of the plain content, without quotes. */
  readonly hash: string;
}

/** By name, e.g. `page.js`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

export const PAGE = 'index.html';

/** Without them a folder is not the built page: `src/page` has a page, too. */
const NEEDED = [PAGE, 'page.js', 'page.css'];

/** Beside the built program, beside its parts, and where the sources have it built to. */
const FOLDERS = ['./page/', '../page/', '../../../dist/page/'];

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

const ENDINGS = { br: '.br', gzip: '.gz' } as const satisfies Record<Coding, string>;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*\.([a-z]+)$/;

/** Enough of SHA-256 that no two versions share it. */
const HASH_CHARS = 22;

export function defaultFolders(): readonly string[] {
  return FOLDERS.map((folder) => fileURLToPath(new URL(folder, import.meta.url)));
}

export class PageFolder {
  readonly #folders: readonly string[];
  #files: Promise<PageFiles | undefined> | undefined;

  /** The first of them that holds the page is it. */
  constructor(folders: readonly string[] = defaultFolders()) {
    this.#folders = folders;
  }

  /** Undefined while there is no built page; looked for anew then each time. */
  async files(): Promise<PageFiles | undefined> {
    this.#files ??= this.#find();
    const files = await this.#files;
    if (files === undefined) this.#files = undefined;
    return files;
  }

  async #find(): Promise<PageFiles | undefined> {
    for (const folder of this.#folders) {
      const names: readonly string[] = await readdir(folder).catch(() => []);
      if (!NEEDED.every((name) => names.includes(name))) continue;
      return await readFiles(folder, new Set(names)).catch(() => undefined);
    }
    return undefined;
  }
}

async function readFiles(folder: string, names: ReadonlySet<string>): Promise<PageFiles> {
  const files = new Map<string, PageFile>();
  for (const name of names) {
    const mediaType = MEDIA_TYPES[NAME.exec(name)?.[1] ?? ''];
    if (mediaType !== undefined) files.set(name, await readPageFile(folder, name, mediaType, names));
  }
  return files;
}

async function readPageFile(
  folder: string,
  name: string,
  mediaType: string,
  names: ReadonlySet<string>,
): Promise<PageFile> {
  const plain = await readFile(`${folder}/${name}`);
  const coded = new Map<Coding, Buffer>();
  for (const [coding, ending] of Object.entries(ENDINGS) as [Coding, string][]) {
    if (names.has(name + ending)) coded.set(coding, await readFile(`${folder}/${name}${ending}`));
  }
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, HASH_CHARS);
  return { mediaType, plain, coded, hash };
}
