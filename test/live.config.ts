import { defineConfig } from 'vitest/config';
import { LIVE, settings } from './settings.ts';

// They mostly wait, each for servers of its own.
export default defineConfig({
  test: { ...settings, include: [...LIVE], maxWorkers: 3 },
});
