import { defineConfig } from 'vitest/config';

// For what is run by hand: it takes minutes, and the machine for itself. `npx vitest run --config test/bench/vitest.config.ts`
export default defineConfig({
  test: { include: ['test/bench/*-load.ts'], testTimeout: 600_000, hookTimeout: 60_000, fileParallelism: false },
});
