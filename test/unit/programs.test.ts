import { expect, it } from 'vitest';
import { readProject } from '../support/docs/documents.ts';
import { PACKAGES } from '../support/programs.ts';

it('CI installs every program that a test needs', () => {
  const installed = /DEBIAN_PACKAGES=\(([^)]*)\)/.exec(readProject('.ci/run'))?.[1]?.split(/\s+/);
  expect(installed).toEqual(expect.arrayContaining(Object.values(PACKAGES).flat()));
});
