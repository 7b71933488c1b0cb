import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** The checkout. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A file of ours, with its text. */
export interface CodeFile {
  /** From the top of the checkout, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** Every file below a folder whose name ends in one of these. */
export function filesBelow(folder: string, endings: readonly string[] = ['.ts', '.js', '.mjs']): CodeFile[] {
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
  return ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true).statements;
}

/** Numbers of the lines that have a node of some kind. */
export function linesWith(file: CodeFile, matches: (node: ts.Node) => boolean): number[] {
  const source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true);
  const lines: number[] = [];
  const visit = (node: ts.Node): void => {
    if (matches(node)) lines.push(source.getLineAndCharacterOfPosition(node.getStart()).line + 1);
    node.forEachChild(visit);
  };
  visit(source);
  return lines;
}
