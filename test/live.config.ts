import { defineConfig } from 'vitest/config';
import { LIVE, settings } from './settings.ts';

// Real deployments that are watched for long. They mostly wait, each for servers of its own.
export default defineConfig({
  test: { ...settings, include: [...LIVE], maxWorkers: 3 },
});
