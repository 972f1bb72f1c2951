import { defineConfig } from 'vitest/config';
// @ts-expect-error: JavaScript without types
import { description } from './rolldown.config.js';

export default defineConfig({
  plugins: [description],
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // Tests open real sockets and start real processes; two at a time keep timing-sensitive ones steady on small machines.
    maxWorkers: 2,
    // Every answer of a monitoring port is held against its OpenAPI document, whatever the test is about.
    setupFiles: ['test/monitor/answers/setup.ts'],
    globalSetup: ['test/monitor/answers/global-setup.ts'],
  },
});
