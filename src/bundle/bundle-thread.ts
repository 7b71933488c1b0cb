/** Bundles the thread of SQLite, which is a program of its own beside the library. */
import { build } from 'esbuild';

/** Builds it. Run it in the root of the repository, after building the library. */
export async function bundleThread(): Promise<void> {
  await build({
    entryPoints: ['src/stores/sqlite/sqlite-thread.ts'],
    outfile: 'dist/sqlite-thread.js',
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.13',
    logLevel: 'warning',
  });
}
