import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // Tests open real sockets and start real processes; two at a time keep timing-sensitive ones steady on small machines.
    maxWorkers: 2,
  },
});
