/** Bundles the command, which uses the library's entries, as an app does. */
import { build } from 'esbuild';

/** Builds it. Run it in the root of the repository, after building the library. */
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
