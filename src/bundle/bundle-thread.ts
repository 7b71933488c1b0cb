/** Bundles the SQLite thread, which is a separate program. */
import { build } from 'esbuild';

/** @returns its text. Run it in the root of the repository */
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
