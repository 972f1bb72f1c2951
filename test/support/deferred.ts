/** Closes everything that a block of tests has opened, the last first, even if a later step of its setup fails. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type afterAll, type afterEach, onTestFinished } from 'vitest';

export type Defer = (close: () => unknown) => void;

/** `const defer = deferTo(afterAll);` and then `defer(() => server.stop());`. */
export function deferTo(hook: typeof afterAll | typeof afterEach): Defer {
  const closings: (() => unknown)[] = [];
  hook(async () => {
    for (const close of closings.splice(0).reverse()) await close();
  });
  return (close) => closings.push(close);
}

/** For what a running test has opened itself. */
export const untilTestEnds: Defer = (close) => onTestFinished(async () => void (await close()));

export function temporaryFolder(defer: Defer): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'd2s-test-'));
  defer(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
