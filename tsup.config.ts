import { copyFile } from 'node:fs/promises';
import { defineConfig } from 'tsup';

export default defineConfig({
  entry: ['src/index.ts', 'src/celery.ts', 'src/memory.ts', 'src/testing.ts'],
  format: ['esm', 'cjs'],
  dts: true,
  target: 'node20.19',
  platform: 'node',
  clean: true,
  // One copy of what the ESM entries share; CommonJS entries carry their own.
  splitting: true,
  treeshake: true,
  external: ['http-proxy-middleware', 'redis'],
  onSuccess: () => copyFile('src/openapi/openapi.json', 'dist/openapi.json'),
});
