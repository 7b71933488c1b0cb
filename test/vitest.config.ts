import { defineConfig } from 'vitest/config';

// Where the counts go, for `.ci/run`.
const report = process.env.TASK_MONITOR_REPORT;

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    // Has a configuration of its own: `npm run test:faults`.
    exclude: ['test/faults/**'],
    setupFiles: ['test/setup.ts'],
    // Many tests start real servers; two cores do not carry more at once.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    ...(report ? { reporters: ['default', 'json'], outputFile: { json: report } } : {}),
  },
});
