import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** The checkout. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: object };

/** The files behind the entries of the package, such as `src/celery.ts`. */
export const ENTRIES: readonly string[] = Object.keys(exports)
  .filter((entry) => !entry.endsWith('.json'))
  .map((entry) => (entry === '.' ? 'src/index.ts' : join('src', `${entry}.ts`)));

/** A file of ours, with its text. */
export interface CodeFile {
  /** From the top of the checkout, with `/`. */
  readonly path: string;
  readonly text: string;
}

// Many rules look at the same files: each is read and parsed once per process.
const read = new Map<string, CodeFile[]>();
const parsed = new WeakMap<CodeFile, ts.SourceFile>();

/** Every file below a folder whose name ends in one of these. */
export function filesBelow(folder: string, endings: readonly string[] = ['.ts', '.js', '.mjs']): CodeFile[] {
  const key = [folder, ...endings].join();
  const files = read.get(key) ?? readBelow(folder, endings);
  read.set(key, files);
  return files;
}

function readBelow(folder: string, endings: readonly string[]): CodeFile[] {
  const top = join(ROOT, folder);
  return readdirSync(top, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('node_modules'))
    .toSorted()
    .map((path) => ({ path: relative(ROOT, path), text: readFileSync(path, 'utf8') }));
}

/** What a file imports, type imports and `import()` included; relative ones as paths from the top. */
export function importsOf(file: CodeFile): string[] {
  return ts
    .preProcessFile(file.text, true, true)
    .importedFiles.map(({ fileName }) =>
      fileName.startsWith('.') ? join(dirname(file.path), fileName) : fileName,
    );
}

/** The top-level statements of a file. */
export function statementsOf(file: CodeFile): readonly ts.Statement[] {
  const source = parsed.get(file) ?? ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true);
  parsed.set(file, source);
  return source.statements;
}
