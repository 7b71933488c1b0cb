import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { LONG_FUNCTIONS } from './long-functions.ts';
import { type CodeFile, filesBelow, statementsOf } from './source-files.ts';

/** Lines of a function, its own closures included. A limit on lines per file does not replace this one. */
const MOST_LINES = 60;

/** What a function is called where it is written; a callback, after what it is given to. */
function nameOf(node: ts.Node): string {
  const { parent } = node;
  const named =
    ts.isFunctionDeclaration(node) || ts.isFunctionExpression(node) || ts.isMethodDeclaration(node);
  if (named && node.name !== undefined) return node.name.getText();
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) return parent.name.getText();
  if (ts.isCallExpression(parent)) return `${parent.expression.getText()}()`;
  return ts.isFunctionLike(parent) ? nameOf(parent) : 'anonymous';
}

/** `path#name` of every function that is longer, with its lines. */
function longOnes(file: CodeFile): [name: string, lines: number][] {
  const found: [string, number][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const text = node.getText();
      const lines = text.split('\n').length;
      if (lines > MOST_LINES) found.push([`${file.path}#${nameOf(node)}`, lines]);
    }
    node.forEachChild(visit);
  };
  for (const statement of statementsOf(file)) visit(statement);
  return found;
}

describe('functions', () => {
  const long = new Map(filesBelow('src', ['.ts', '.tsx']).flatMap(longOnes));

  it(`of more than ${MOST_LINES} lines are each listed with a reason in long-functions.ts`, () => {
    const missing = [...long].filter(([name]) => !Object.hasOwn(LONG_FUNCTIONS, name));
    expect(missing.map(([name, lines]) => `${name} (${lines} lines)`)).toEqual([]);
  });

  it('leave the list when they are short enough', () => {
    expect(Object.keys(LONG_FUNCTIONS).filter((name) => !long.has(name))).toEqual([]);
  });
});
