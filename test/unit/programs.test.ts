import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { isAvailable, PACKAGES } from '../support/programs.ts';

const CI = readFileSync(path.resolve(import.meta.dirname, '../../.ci/run'), 'utf8');

afterEach(() => void vi.unstubAllEnvs());

it('CI installs every program that a test needs', () => {
  const installed = /DEBIAN_PACKAGES=\(([^)]*)\)/.exec(CI)?.[1]?.split(/\s+/);
  expect(installed).toEqual(expect.arrayContaining(Object.values(PACKAGES).flat()));
});

it('a missing program skips its tests; if it is required, it is an error with the command that installs it', () => {
  vi.stubEnv('D2S_REQUIRE_PROGRAMS', undefined);
  vi.stubEnv('D2S_MISSING_PROGRAMS', undefined);
  expect([isAvailable('Tomcat', true), isAvailable('Tomcat', false)]).toEqual([true, false]);
  vi.stubEnv('D2S_REQUIRE_PROGRAMS', '1');
  expect(isAvailable('Tomcat', true)).toBe(true);
  expect(() => isAvailable('Tomcat', false)).toThrow(
    'this machine has not: Tomcat. Install: apt-get install --no-install-recommends openjdk-17-jdk-headless tomcat10',
  );
});
