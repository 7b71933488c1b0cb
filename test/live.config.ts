import { defineConfig } from 'vitest/config';
import { LIVE, SAMPLED, settings } from './settings.ts';

// They mostly wait, each for servers of its own.
export default defineConfig({
  test: {
    ...settings,
    include: [...LIVE, ...SAMPLED],
    env: { TASK_MONITOR_CASES: process.env.TASK_MONITOR_CASES ?? 'rest' },
    maxWorkers: 3,
  },
});
