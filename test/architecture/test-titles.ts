/** The titles of tests as they are written, without running them. */
import ts from 'typescript';
import type { CodeFile } from './source-files.ts';
import { statementsOf } from './source-files.ts';

const SUITES = /^describe$/;
/** Also functions of a folder that run a test, or a suite of them, under the title that they are given. */
const TESTS = /^(?:it|test|\w*[cC]ase|describe\w+)$/;

/**
 * The title of every test of a file behind those of its suites, such as `on $name, the router answers OPTIONS %s with
 * 204`. What is computed in a title is `…`; the row of a table is named behind the title that has a place for it.
 */
export function titlesOf(file: CodeFile): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node, suites: readonly string[]): void => {
    let within = suites;
    if (ts.isCallExpression(node)) {
      const callee = rootOf(node.expression);
      const title = titleIn(node);
      if (title !== null && SUITES.test(callee)) within = [...suites, title];
      if (title !== null && TESTS.test(callee)) {
        const named = [...suites, title].join(' ');
        found.push(named, ...rowsOf(node).map((row) => `${named} ${row}`));
      }
    }
    node.forEachChild((child) => visit(child, within));
  };
  for (const statement of statementsOf(file)) visit(statement, []);
  return found;
}

/** `describe` of `describe.skipIf(missing).each(rows)`. */
function rootOf(expression: ts.Expression): string {
  if (ts.isCallExpression(expression) || ts.isPropertyAccessExpression(expression)) {
    return rootOf(expression.expression);
  }
  return expression.getText();
}

/** The first text of each row of `it.each([['title', …]])(…)`. */
function rowsOf({ expression }: ts.CallExpression): string[] {
  const table = ts.isCallExpression(expression) ? expression.arguments[0] : undefined;
  if (table === undefined || !ts.isArrayLiteralExpression(table)) return [];
  return table.elements.flatMap((row) => {
    const first = ts.isArrayLiteralExpression(row) ? row.elements[0] : row;
    return (first && textOf(first)) ?? [];
  });
}

/** The text among the arguments of a call; also where a function adds to it why a test is skipped. */
function titleIn(call: ts.CallExpression): string | null {
  for (const argument of call.arguments) {
    const text = textOf(argument);
    if (text !== null) return text;
    if (ts.isCallExpression(argument) && !ts.isArrowFunction(argument)) {
      const inner = argument.arguments.map(textOf).find((one) => one !== null);
      if (inner !== undefined && inner !== null) return inner;
    }
  }
  return null;
}

function textOf(node: ts.Node): string | null {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
}
