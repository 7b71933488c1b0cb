import { defineConfig } from 'vitest/config';
import { LIVE, settings } from './settings.ts';

// The tests that judge the faults of a folder: `test/mutate.mjs` names them.
export default defineConfig({
  test: {
    ...settings,
    include: process.env.TASK_MONITOR_MUTATE?.split(' ') ?? [],
    // The page that it looks at is built without the faults.
    exclude: [...LIVE, 'test/secrets/page.test.ts'],
    isolate: false,
  },
});
