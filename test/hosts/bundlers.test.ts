import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { install, type Recipe, runNode, start } from './host-project.ts';

const authorization = `Basic ${Buffer.from('ops:change-me').toString('base64')}`;

/** An app that uses all that the package reads or imports later, without any of its optional packages. */
const APP = `import './server.mjs';
export { bullmqSources } from 'express-task-monitor/bullmq';
export { celerySources } from 'express-task-monitor/celery';
export { sqliteStore } from 'express-task-monitor/sqlite';
`;

const recipe: Recipe = {
  heading: "Node's http",
  packages: {
    '@rollup/plugin-commonjs': '29.0.3',
    '@rollup/plugin-json': '6.1.0',
    '@rollup/plugin-node-resolve': '16.0.3',
    '@vercel/nft': '1.11.5',
    esbuild: '0.28.2',
    rollup: '4.68.7',
    vite: '8.3.8',
    webpack: '5.112.2',
  },
  start: [],
};

const ESBUILD = `const { build } = await import('esbuild');
const options = { entryPoints: ['app.mjs'], bundle: true, platform: 'node', logLevel: 'error' };`;
/** What docs/hosts.md has people write. */
const BANNER = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/** Programs that bundle the app into a folder, by bundler; and the file to start there. */
const BUNDLERS: Readonly<Record<string, readonly [program: string, file: string]>> = {
  'esbuild, as ES module': [
    `${ESBUILD}
await build({ ...options, format: 'esm', outfile: out + '/app.mjs', banner: { js: "${BANNER}" } });`,
    'app.mjs',
  ],
  'esbuild, as CommonJS': [
    `${ESBUILD}
await build({ ...options, format: 'cjs', outfile: out + '/app.cjs' });`,
    'app.cjs',
  ],
  Rollup: [
    `const { rollup } = await import('rollup');
const [commonjs, json, resolve] = await Promise.all(
  ['commonjs', 'json', 'node-resolve'].map(async (name) => (await import('@rollup/plugin-' + name)).default),
);
const bundle = await rollup({ input: 'app.mjs', plugins: [resolve({ preferBuiltins: true }), commonjs(), json()] });
await bundle.write({ dir: out, entryFileNames: 'app.mjs', chunkFileNames: '[name].mjs' });`,
    'app.mjs',
  ],
  "Vite's ssr": [
    `const { build } = await import('vite');
const output = { entryFileNames: 'app.mjs', chunkFileNames: '[name].mjs' };
await build({
  logLevel: 'error', ssr: { noExternal: true },
  build: { ssr: 'app.mjs', outDir: out, rolldownOptions: { output } },
});`,
    'app.mjs',
  ],
  webpack: [
    `const { default: webpack } = await import('webpack');
const options = { target: 'node20', mode: 'production', entry: './app.mjs', output: { path: out, filename: 'app.cjs' } };
await new Promise((resolve, reject) =>
  webpack(options, (error, stats) => (error ?? stats.hasErrors() ? reject(error ?? stats.toString()) : resolve())),
);`,
    'app.cjs',
  ],
  '@vercel/nft': [
    `const { cpSync } = await import('node:fs');
const { nodeFileTrace } = await import('@vercel/nft');
const { fileList } = await nodeFileTrace(['app.mjs']);
for (const path of fileList) cpSync(path, out + '/' + path);`,
    'app.mjs',
  ],
};

describe('an app with the monitor that is bundled or traced, and moved elsewhere', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await install(recipe);
    writeFileSync(join(folder, 'app.mjs'), APP);
  }, 300_000);

  it.each(Object.entries(BUNDLERS))('shows the page: %s', async (name, [program, file]) => {
    const place = join(dirname(folder), name.replaceAll(/\W+/g, '-'));
    const script = `const out = ${JSON.stringify(place)};\n${program}`;
    await runNode(['--input-type=module', '--eval', script], folder);
    const host = await start({ ...recipe, start: [file] }, place);
    try {
      const headers = { authorization };
      const { status, text } = await ask(host.base, '/', { headers });
      const [asset] = /assets\/app-[^"]+\.js/.exec(text) ?? [];
      const files = await Promise.all(
        [`/${asset}`, '/assets/licenses.txt'].map((path) => ask(host.base, path, { headers })),
      );
      expect([status, ...files.map((answer) => answer.status)]).toEqual([200, 200, 200]);
    } finally {
      await host.stop();
    }
  });
});
