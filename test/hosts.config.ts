import { defineConfig } from 'vitest/config';
import { HOSTS, settings } from './settings.ts';

// Projects that install the package and the host's own packages from the registry.
export default defineConfig({
  test: { ...settings, include: [HOSTS], maxWorkers: 2 },
});
