import { defineConfig } from 'vitest/config';
// @ts-expect-error: JavaScript without types
import { description, workerSource } from './rolldown.config.js';

/**
 * Three projects, by folder. `unit`: no process, no socket, no waiting. `system`: our program, real sockets, and peers
 * from npm. `programs`: Tomcat, JVMs, nginx, Chromium, Prometheus, Debian's tools, and what builds and checks a release.
 */
const PROJECTS = ['unit', 'system', 'programs'] as const;

/** Every answer of a monitoring port is compared with its OpenAPI document, whatever the test is about. */
const setupFiles = ['test/support/monitor/answers/setup.ts'];

const SETUPS = {
  unit: {},
  system: { setupFiles },
  programs: { setupFiles, globalSetup: ['test/support/programs.ts'] },
};

export default defineConfig({
  test: {
    projects: PROJECTS.map((name, groupOrder) => ({
      plugins: [description, workerSource],
      test: {
        name,
        include: [`test/${name}/**/*.test.ts`],
        testTimeout: 20_000,
        hookTimeout: 60_000,
        // Files share their modules, which halves the time of `unit`: no test may change what another one imports.
        isolate: false,
        // Much of `system` is waiting. JVMs and browsers need more than a core each.
        maxWorkers: name === 'system' ? 3 : 2,
        // Tests that run side by side start a process or more each.
        maxConcurrency: name === 'system' ? 3 : 1,
        sequence: { groupOrder },
        ...SETUPS[name],
      },
    })),
  },
});
