import { defineConfig } from 'vitest/config';

// Run by hand, for minutes, on an idle machine: `npx vitest run --config test/bench/vitest.config.ts`
export default defineConfig({
  test: { include: ['test/bench/*-load.ts'], testTimeout: 600_000, hookTimeout: 60_000, fileParallelism: false },
});
