import { readFileSync } from 'node:fs';

/** A file of test/fixtures/dropwizard, which holds output of the real library. */
export function readFixture(file: string): string {
  return readFileSync(new URL(`../../fixtures/dropwizard/${file}`, import.meta.url), 'utf8');
}
