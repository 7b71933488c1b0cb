import { defineConfig } from 'vitest/config';
import { settings } from './settings.ts';

// What needs `node:sqlite`: `test/helpers/other-node.ts` runs these files with a Node that has it.
export default defineConfig({
  test: { ...settings, include: ['test/**/*.node22.ts'], maxWorkers: 1, isolate: false },
});
