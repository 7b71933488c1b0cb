import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';

const ROWS = 78;
const FOLDER = new URL('./', import.meta.url);
const files = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.test.ts') && name !== 'table.test.ts')
  .map((name) => ({ name, text: readFileSync(new URL(name, FOLDER), 'utf8') }));

/** Rows that calls of `faultCase`, or of what a file derives from it, are made for. */
function rowsOf(name: string, text: string): number[] {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.ESNext, true);
  const found: number[] = [];
  function visit(node: ts.Node): void {
    if (ts.isCallExpression(node) && /^\w*[cC]ase$/.test(node.expression.getText())) {
      const [row] = node.arguments;
      // A case of a loop counts when the loop is over other things than rows.
      if (row !== undefined && ts.isNumericLiteral(row)) found.push(Number(row.text));
    }
    ts.forEachChild(node, visit);
  }
  visit(source);
  return found;
}

describe('the fault table', () => {
  const rows = files.flatMap(({ name, text }) => rowsOf(name, text));

  it('has a case for each of its rows', () => {
    const missing = Array.from({ length: ROWS }, (_, index) => index + 1).filter(
      (row) => !rows.includes(row),
    );
    expect(missing).toEqual([]);
    expect(rows.filter((row) => row < 1 || row > ROWS)).toEqual([]);
  });

  it('is run on every major version of Express', () => {
    expect(EXPRESS_MAJORS.map(({ name }) => name)).toEqual(['Express 4', 'Express 5']);
  });

  it('skips no case but for a service that is not installed', () => {
    const strays = files.flatMap(({ name, text }) =>
      [
        // Tests beside `faultCase` would be no case of it: neither measured nor watched.
        ...[...text.matchAll(/\b(?:it|test|describe)(?:\.\w+)*\(|\.(?:skip|only|todo|runIf|skipIf)\b/g)],
        ...[...text.matchAll(/\bmissing: (?!\w+Missing\b)/g)],
      ].map(([found]) => `${name}: ${found}`),
    );
    expect(strays).toEqual([]);
  });
});
