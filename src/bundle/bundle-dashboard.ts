/**
 * Bundles the dashboard into one module: minified files with hashed names, their manifest, and the licences of the
 * bundled packages.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { build, type Metafile, type Plugin, transform } from 'esbuild';

type PackagePage = typeof import('#page');

const NOTICE = 'licenses.txt';

/**
 * Puts the style of a view into its code, so that both are loaded together. The page may not have inline styles, but
 * its scripts may add style sheets.
 */
const STYLES_OF_VIEWS: Plugin = {
  name: 'styles-of-views',
  setup({ onLoad, onResolve, resolve: find }) {
    onResolve({ filter: /\.css$/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
      if (pluginData === RESOLVED || kind !== 'import-statement') return null;
      const found = await find(path, { kind, importer, resolveDir, pluginData: RESOLVED });
      return { path: found.path, namespace: 'style', errors: found.errors };
    });
    onLoad({ filter: /.*/, namespace: 'style' }, async ({ path }) => {
      const { code } = await transform(await readFile(path, 'utf8'), { loader: 'css', minify: true });
      const contents = `const sheet = new CSSStyleSheet(); sheet.replaceSync(${JSON.stringify(code.trim())}); document.adoptedStyleSheets.push(sheet);`;
      return { contents, loader: 'js' };
    });
  },
};
const RESOLVED = Symbol('resolved');

const MAIN = 'src/dashboard/main.tsx';

/**
 * Makes all code that is loaded later import the first screen, which so becomes one file, and `shared`, another one.
 * Otherwise there would be a file for each set of views that share some code.
 */
const fewFiles = (shared: readonly string[]): Plugin => ({
  name: 'few-files',
  setup({ onLoad, onResolve, resolve: find }) {
    onResolve({ filter: /^first$/ }, () => ({ path: resolve(MAIN) }));
    onResolve({ filter: /^shared$/ }, ({ path }) => ({ path, namespace: 'shared' }));
    onLoad({ filter: /.*/, namespace: 'shared' }, () => ({
      contents: shared.map((path) => `import ${JSON.stringify(path)};`).join('\n'),
      resolveDir: '.',
    }));
    onResolve({ filter: /\.tsx?$/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
      if (pluginData === RESOLVED || kind !== 'dynamic-import') return null;
      const found = await find(path, { kind, importer, resolveDir, pluginData: RESOLVED });
      return { path: found.path, errors: found.errors, pluginData: LATER };
    });
    onLoad({ filter: /\.tsx?$/ }, async ({ path, pluginData }) => {
      if (pluginData !== LATER) return null;
      return {
        contents: `import 'first';\nimport 'shared';\n${await readFile(path, 'utf8')}`,
        loader: 'tsx',
      };
    });
  },
});
const LATER = Symbol('later');

/** @param shared modules that several views use, and the first screen does not */
function buildWith(shared: readonly string[]) {
  return build({
    entryPoints: { app: MAIN, style: 'src/dashboard/style/style.css', icon: 'src/dashboard/icon.svg' },
    outdir: 'dist',
    write: false,
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
    plugins: [STYLES_OF_VIEWS, fewFiles(shared)],
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    logOverride: { 'ignored-bare-import': 'silent' },
  });
}
/** Builds the bundle. Run it in the root of the repository, after building the library. */
export async function bundleDashboard(): Promise<void> {
  const { metafile, outputFiles } = await buildWith(sharedIn(await buildWith([])));
  const notice = await noticeOf(metafile);
  const named = (pattern: RegExp): string => {
    const file = outputFiles.find(({ path }) => pattern.test(basename(path)));
    if (file === undefined) throw new Error(`The build made no file like ${pattern}.`);
    return basename(file.path);
  };
  // The entry only imports what it shares with all views: the whole first screen.
  const entry = named(/^app-.*\.js$/);
  const [first = '', ...imports] = importsOf(metafile, `dist/${entry}`).map((path) => basename(path));
  const script = first.replace('chunk-', 'app-');
  const rename = (text: string): string => text.replaceAll(first, script);
  const files = outputFiles
    .map(({ path, text }) => [rename(basename(path)), rename(text)] as const)
    .filter(([name]) => name !== entry);
  const manifest: PackagePage['manifest'] = {
    script,
    imports,
    style: named(/^style-.*\.css$/),
    icon: named(/^icon-.*\.svg$/),
  };
  const packed = [...files, [NOTICE, notice] as const].map(
    ([name, text]) => [name, brotliCompressSync(text).toString('base64')] as const,
  );
  const page: PackagePage = { manifest, files: Object.fromEntries(packed) };
  const parts = Object.entries(page).map(
    ([name, part]) => `export const ${name} = ${JSON.stringify(part, null, 1)};`,
  );
  // Bundlers keep comments of this form, as the licences require.
  await writeFile('dist/page.js', `/*!\n${notice.replaceAll('*/', '* /')}*/\n${parts.join('\n')}\n`);
}

/** The modules of files that no entry and no `import()` names, except for the first screen. */
function sharedIn({ metafile }: { readonly metafile: Metafile }): string[] {
  const { outputs } = metafile;
  const first = Object.keys(outputs).filter((path) => outputs[path]?.entryPoint === MAIN);
  const own = new Set(first.flatMap((path) => importsOf(metafile, path)));
  return Object.entries(outputs).flatMap(([path, { entryPoint, inputs }]) =>
    entryPoint !== undefined || own.has(path)
      ? []
      : Object.keys(inputs).map((input) => resolve(input.replace(/^style:/, ''))),
  );
}

/** All files that a browser needs to run a script: its imports, and theirs. */
function importsOf({ outputs }: Metafile, script: string): string[] {
  const found = new Set([script]);
  for (const path of found) {
    for (const { path: target, kind } of outputs[path]?.imports ?? []) {
      if (kind === 'import-statement') found.add(target);
    }
  }
  return [...found].slice(1);
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
