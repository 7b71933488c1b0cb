import { defineConfig } from 'vitest/config';
import { FaultTableReporter } from './faults/kit/table-reporter.ts';
import { FAULTS, settings } from './settings.ts';

// The bench of the fault table: it takes minutes and breaks things, so it is not part of `npm test`.
export default defineConfig({
  test: {
    ...settings,
    include: [FAULTS],
    // Cases measure time and what a process holds: one after another.
    maxWorkers: 1,
    reporters: [...[settings.reporters ?? 'default'].flat(), new FaultTableReporter()],
  },
});
