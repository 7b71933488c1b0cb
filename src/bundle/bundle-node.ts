/** What the build makes for Node besides the library. All of it is run in the root of the repository. */
import { readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

/** Bundles the command, which uses the library's entries, as an app does. To be run after building the library. */
export async function bundleCommand(): Promise<void> {
  await build({
    entryPoints: ['src/command.ts'],
    outfile: 'dist/command.js',
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
    plugins: [
      {
        name: 'entries',
        setup({ onResolve }) {
          const entry = /^\.\.\/(node|celery|bullmq|sqlite|postgres|client)\.ts$/;
          onResolve({ filter: entry }, ({ path }) => ({
            path: path.replace(entry, './$1.js'),
            external: true,
          }));
        },
      },
    ],
  });
}

/** Bundles the SQLite thread, which is a separate program. @returns its text */
export async function bundleThread(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ['src/stores/sqlite/sqlite-thread.ts'],
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.13',
    logLevel: 'warning',
  });
  return outputFiles[0]?.text ?? '';
}

const ENTRIES = ['index', 'node', 'celery', 'bullmq', 'memory', 'sqlite', 'postgres', 'testing', 'command'];

/**
 * Has every built entry for Node say first which Node it needs: an old one fails at what it lacks, wherever that is. To
 * be run after the build.
 */
export function guardNode(): void {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
  const check = checkOf(engines.node.replace('>=', ''));
  for (const path of ['dist/node-version.js', 'dist/node-version.cjs']) writeFileSync(path, check);
  for (const entry of ENTRIES) prefix(`dist/${entry}.js`, /^(?:#!.*\n)?/, "import './node-version.js';\n");
  for (const entry of ENTRIES.filter((name) => name !== 'command')) {
    prefix(`dist/${entry}.cjs`, /^'use strict';\n/, "require('./node-version.cjs');\n");
  }
}

/** Works on every Node that reads ES modules. */
function checkOf(needed: string): string {
  const [major, minor] = needed.split('.');
  return `const [major, minor] = process.versions.node.split('.').map(Number);
if (major < ${major} || (major === ${major} && minor < ${minor})) {
  throw new Error(\`express-task-monitor needs Node ${needed} or later; this is Node \${process.versions.node}.\`);
}
`;
}

function prefix(path: string, start: RegExp, line: string): void {
  const text = readFileSync(path, 'utf8');
  if (!start.test(text)) throw new Error(`${path} does not begin as expected.`);
  writeFileSync(
    path,
    text.replace(start, (found) => found + line),
  );
}
