/**
 * The live page itself: `/`, and its script, style and icon under `/page/`. They need no credential and hold no data,
 * since the page itself asks for the credential. It reads its data from live-routes.ts.
 *
 * The files are those of `dist/page`, each plain and compressed (`page.js`, `page.js.br`, `page.js.gz`). They are read
 * at the first request for the page, and kept: a few hundred KB. A request's path is never used as a path on disk.
 */

import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isErrno } from '../../base/errors.ts';
import { Problem } from '../../base/problem.ts';
import { loadProgramFile } from '../../base/program-files.ts';
import { OPEN } from '../guard.ts';
import { type Coding, MAX_MEMBERS, negotiateCoding } from '../negotiate.ts';

/**
 * Allows only resources and data from this server, and no inline script or style (`'unsafe-inline'`). Charts set styles
 * through the CSSOM, which this policy allows to the script.
 */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Browsers cache the files but revalidate them each time, so that an update of the sidecar updates the page. */
export const REVALIDATE = 'no-cache';

const NOT_BUILT =
  'The live page is missing in this installation: there is no folder "page" next to the program. Install the package again, or, with ' +
  'the sources, run "npm run build". Everything else on this port works without it.';

export function addPageRoutes(server: FastifyInstance, folder = openPageFolder()): void {
  server.get('/', OPEN, (request, reply) => send(request, reply, folder, PAGE));
  server.get('/page/:file', OPEN, (request, reply) => {
    const { file } = request.params as { file: string };
    // The page has only one address, `/`.
    return send(request, reply, folder, file === PAGE ? '' : file);
  });
}

async function send(request: FastifyRequest, reply: FastifyReply, folder: PageFolder, name: string) {
  const files = await folder();
  if (files === undefined) throw new Problem(503, NOT_BUILT);
  const file = files.get(name);
  if (file === undefined) throw new Problem(404, 'The live page has no such file.');
  const coding = negotiateCoding(request.headers['accept-encoding'], [...file.coded.keys()]);
  // Each coding has its own tag, since the bytes differ (RFC 9110 §8.8.3.3).
  const etag = `"${file.hash}${coding === undefined ? '' : `-${coding}`}"`;
  reply.headers({ etag, vary: 'accept-encoding', 'cache-control': REVALIDATE });
  if (name === PAGE) reply.header('content-security-policy', PAGE_POLICY);
  if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
  reply.header('content-type', file.mediaType);
  if (coding === undefined) return reply.send(file.plain);
  return reply.header('content-encoding', coding).send(file.coded.get(coding));
}

/** Weak comparison, RFC 9110 §13.1.2. */
function isKnown(field: string | undefined, etag: string): boolean {
  if (field === undefined) return false;
  return field.split(',', MAX_MEMBERS).some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')));
}

interface PageFile {
  readonly mediaType: string;
  readonly plain: Buffer;
  readonly coded: ReadonlyMap<Coding, Buffer>;
  /** SHA-256 of the plain content, shortened, without quotes. */
  readonly hash: string;
}

/** By name, e.g. `page.js`. */
type PageFiles = ReadonlyMap<string, PageFile>;

const PAGE = 'index.html';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  [PAGE]: 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

const ENDINGS = { br: '.br', gzip: '.gz' } as const satisfies Record<Coding, string>;

/** Enough of the SHA-256 to distinguish all versions. */
const HASH_CHARS = 22;

/** Resolves to undefined while there is no built page; each call then searches again. */
export type PageFolder = () => Promise<PageFiles | undefined>;

/** `read` resolves to the bytes of a file of the built page, e.g. `page.js.br`, and rejects if it is missing. */
export function openPageFolder(read = (name: string) => loadProgramFile(`dist/page/${name}`)): PageFolder {
  let files: PageFiles | undefined;
  return async () => {
    files ??= await readFiles(read).catch(() => undefined);
    return files;
  };
}

/** Rejects if a file is missing. */
async function readFiles(read: (name: string) => Promise<Buffer>): Promise<PageFiles> {
  const files = new Map<string, PageFile>();
  for (const [name, mediaType] of Object.entries(MEDIA_TYPES)) {
    const plain = await read(name);
    const coded = new Map<Coding, Buffer>();
    for (const [coding, ending] of Object.entries(ENDINGS) as [Coding, string][]) {
      // Another error passes, so it must not be kept as if the file were missing.
      const bytes = await read(name + ending).catch((error: unknown) => {
        if (!isErrno(error, 'ENOENT')) throw error;
      });
      if (bytes !== undefined) coded.set(coding, bytes);
    }
    const hash = createHash('sha256').update(plain).digest('base64url').slice(0, HASH_CHARS);
    files.set(name, { mediaType, plain, coded, hash });
  }
  return files;
}
