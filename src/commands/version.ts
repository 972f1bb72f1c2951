import { readFileSync } from 'node:fs';

/** E.g. `1.4.0`, from package.json, which lies as far from the sources as from what is built of them. */
export function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
