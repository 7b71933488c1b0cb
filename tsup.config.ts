import { readFile, writeFile } from 'node:fs/promises';
import { defineConfig } from 'tsup';
import { bundleDashboard } from './src/bundle/bundle-dashboard.ts';
import { bundleCommand, bundleThread, guardNode } from './src/bundle/bundle-node.ts';

export default defineConfig({
  entry: [
    'src/index.ts',
    'src/node.ts',
    'src/celery.ts',
    'src/bullmq.ts',
    'src/memory.ts',
    'src/sqlite.ts',
    'src/postgres.ts',
    'src/client.ts',
    'src/testing.ts',
  ],
  format: ['esm', 'cjs'],
  // `npm run check:types` checks the types; to check them here too takes longer than the rest of the build.
  dts: { compilerOptions: { noCheck: true } },
  target: 'node20.19',
  platform: 'node',
  clean: true,
  define: { SQLITE_THREAD: JSON.stringify(await bundleThread()) },
  // One copy of what entries share, in each format. It is not minified, so that stack traces can be read: the start of an
  // app takes as long either way.
  splitting: true,
  treeshake: true,
  esbuildPlugins: [
    {
      name: 'page',
      setup({ onResolve }) {
        onResolve({ filter: /^#page$/ }, () => ({ path: './page.js', external: true }));
      },
    },
  ],
  external: ['amqplib', 'http-proxy-middleware', 'redis', 'ioredis', 'prom-client'],
  async onSuccess() {
    const openapi: unknown = JSON.parse(await readFile('src/openapi/openapi.json', 'utf8'));
    await writeFile('dist/openapi.json', JSON.stringify(openapi));
    await bundleCommand();
    await bundleDashboard();
    guardNode();
  },
});
