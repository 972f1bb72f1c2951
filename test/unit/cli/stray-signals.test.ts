import { afterEach, expect, it, vi } from 'vitest';

const { execArgv } = process;

afterEach(() => {
  process.execArgv = execArgv;
});

it.each([
  { options: [], isCaught: true },
  { options: ['--cpu-prof'], isCaught: false },
  { options: ['--cpu-prof-dir=/tmp'], isCaught: false },
])('SIGPROF is left to V8 when its profiler runs: $options', async ({ options, isCaught }) => {
  process.execArgv = options;
  vi.resetModules();
  const { STRAY_SIGNALS } = await import('../../../src/cli/stray-signals.ts');
  expect(STRAY_SIGNALS.includes('SIGPROF')).toBe(isCaught);
  expect(STRAY_SIGNALS).toContain('SIGUSR1');
});
