/**
 * Bundles the dashboard: minified files with hashed names, their manifest, and the licences of the bundled
 * packages.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import type { PackageManifest } from '../http/dashboard-files.ts';

const FOLDER = 'dist/dashboard';
const NOTICE = 'licenses.txt';

/** Builds the bundle. Run it in the root of the repository, after building the library. */
export async function bundleDashboard(): Promise<void> {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  const { metafile } = await build({
    entryPoints: { app: 'src/dashboard/main.tsx', icon: 'src/dashboard/icon.svg' },
    outdir: FOLDER,
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: ['es2022'],
    tsconfig: 'src/dashboard/tsconfig.json',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.svg': 'copy' },
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  const files = Object.keys(metafile.outputs).map((path) => basename(path));
  const named = (pattern: RegExp): string => {
    const name = files.find((file) => pattern.test(file));
    if (name === undefined) throw new Error(`The build made no file like ${pattern}.`);
    return name;
  };
  const script = named(/^app-.*\.js$/);
  const imports = (metafile.outputs[`${FOLDER}/${script}`]?.imports ?? [])
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => basename(path));
  const manifest: PackageManifest = {
    script,
    imports,
    style: named(/^app-.*\.css$/),
    icon: named(/^icon-.*\.svg$/),
    files: [...files, NOTICE].toSorted(),
  };
  await writeFile(join(FOLDER, NOTICE), await noticeOf(metafile));
  await writeFile(join(FOLDER, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** The licences of all bundled packages, which these licences require to be included. */
async function noticeOf({ outputs }: Metafile): Promise<string> {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const names = inputs
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
    .filter((name) => name !== undefined);
  const parts = [...new Set(names)].toSorted().map(async (name) => {
    const folder = join('node_modules', name);
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
      version: string;
    };
    const license = await readFile(join(folder, 'LICENSE'), 'utf8');
    return `${name} ${version}\n\n${license.trim()}\n`;
  });
  return `The page contains code of these packages.\n\n${(await Promise.all(parts)).join('\n\n')}`;
}
