/** Third-party programs, each in its own process, which ends with the tests. */
import { type SpawnOptions, spawn } from 'node:child_process';
import { vi } from 'vitest';
import type { Defer } from './deferred.ts';
import { collect } from './install/run.ts';
import { exitOf, stopProcess } from './sidecar-process.ts';

/** `output`: what it has written to standard error. */
export function startProgram(defer: Defer, program: string, args: readonly string[], options: SpawnOptions = {}) {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], ...options });
  const exited = exitOf(child);
  defer(() => stopProcess(child, exited, 'SIGTERM'));
  return { child, exited, output: collect(child.stderr) };
}

/** A program that answers `url` with a success once it is ready. */
export async function startServer(defer: Defer, url: string, program: string, ...args: readonly string[]) {
  const { output } = startProgram(defer, program, args);
  const isReady = async () => (await fetch(url).catch(() => undefined))?.ok === true;
  await vi
    .waitUntil(isReady, { timeout: 30_000, interval: 50 })
    .catch(() => Promise.reject(new Error(`${program} is not ready: ${output()}`)));
}
