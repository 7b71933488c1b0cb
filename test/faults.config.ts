import { defineConfig } from 'vitest/config';
import { FaultTableReporter } from './faults/kit/table-reporter.ts';
import base from './vitest.config.ts';

const { test } = base;

// The bench of the fault table: it takes minutes and breaks things, so it is not part of `npm test`.
export default defineConfig({
  test: {
    ...test,
    include: ['test/faults/**/*.test.ts'],
    exclude: [],
    // Cases measure time and what a process holds: one after another.
    maxWorkers: 1,
    reporters: [...[test?.reporters ?? 'default'].flat(), new FaultTableReporter()],
  },
});
