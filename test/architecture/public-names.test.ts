import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { PUBLIC } from './public-surface.ts';
import { filesBelow, statementsOf } from './source-files.ts';

const files = filesBelow('src');

/** Names that a file passes on; `* of ./file.ts` for all of another file. */
function namesOf(path: string): string[] {
  const file = files.find((candidate) => candidate.path === path);
  return (file ? statementsOf(file) : [])
    .flatMap((statement) => {
      if (!ts.isExportDeclaration(statement)) return [];
      const { exportClause, moduleSpecifier } = statement;
      if (exportClause && ts.isNamedExports(exportClause)) {
        return exportClause.elements.map((element) => element.name.text);
      }
      return moduleSpecifier && ts.isStringLiteral(moduleSpecifier) ? [`* of ${moduleSpecifier.text}`] : [];
    })
    .toSorted();
}

/** Exported declarations of a file, with whether a TSDoc comment stands above. */
function declarationsOf(path: string): Map<string, boolean> {
  const file = files.find((candidate) => candidate.path === path);
  const documented = new Map<string, boolean>();
  for (const statement of file ? statementsOf(file) : []) {
    const names = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations.map((declaration) => declaration.name)
      : [(statement as ts.DeclarationStatement).name];
    const has = ts.getJSDocCommentsAndTags(statement).length > 0;
    for (const name of names) {
      if (name && ts.isIdentifier(name)) documented.set(name.text, has || documented.get(name.text) === true);
    }
  }
  return documented;
}

describe('the public names', () => {
  it.each(Object.entries(PUBLIC))('of %s are these', (path, names) => {
    expect(namesOf(path)).toEqual(names);
  });

  it.each(Object.keys(PUBLIC))('of %s are each told what they mean', (path) => {
    const file = files.find((candidate) => candidate.path === path);
    const origins = (file ? statementsOf(file) : []).flatMap((statement) =>
      ts.isExportDeclaration(statement) &&
      statement.moduleSpecifier &&
      ts.isStringLiteral(statement.moduleSpecifier)
        ? [statement.moduleSpecifier.text.replace('./', 'src/')]
        : [],
    );
    const declarations = new Map(origins.flatMap((origin) => [...declarationsOf(origin)]));
    expect(namesOf(path).filter((name) => declarations.get(name) === false)).toEqual([]);
  });

  it('export nothing but names of other files', () => {
    for (const path of Object.keys(PUBLIC)) {
      const file = files.find((candidate) => candidate.path === path);
      expect(file && statementsOf(file).every(ts.isExportDeclaration), path).toBe(true);
    }
  });
});
