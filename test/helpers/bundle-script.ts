/** Scripts on the library's sources, bundled so that a process of their own need not compile each file. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** The folder of the checkout. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** By script. */
const bundles = new Map<string, Promise<string>>();

/** Bundles a module that imports `./src/…`, once in a file of tests. @returns an ES module */
export function bundleScript(script: string): Promise<string> {
  const bundled =
    bundles.get(script) ??
    build({
      stdin: { contents: script, resolveDir: ROOT },
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      write: false,
    }).then(({ outputFiles }) => outputFiles[0]?.text ?? '');
  bundles.set(script, bundled);
  return bundled;
}
