/** A digest of what the live page is made of, so that a test notices pictures that are older than the page. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const PAGE = path.resolve(import.meta.dirname, '../src/page');
const SOURCE = /\.(?:tsx?|css|html|svg)$/;

/** SHA-256 of names and contents, in hexadecimal digits. */
export function digestPage() {
  const digest = createHash('sha256');
  for (const name of readdirSync(PAGE)
    .filter((one) => SOURCE.test(one))
    .sort())
    digest.update(`${name}\n`).update(readFileSync(path.join(PAGE, name)));
  return digest.digest('hex');
}
