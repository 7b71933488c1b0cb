/**
 * Writes the public names of every entry, and their types without comments, to `public-types.txt`, so that a change of
 * the surface shows in review: `npm run types:report`. With `--check` it compares, and fails where they differ. Fails
 * where a public name has no comment that says what it means.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { ENTRIES } from './source-files.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const REPORT = join(ROOT, 'test/architecture/public-types.txt');

const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, ROOT);
const program = ts.createProgram(
  ENTRIES.map((entry) => join(ROOT, entry)),
  options,
);
const checker = program.getTypeChecker();
const printer = ts.createPrinter({ removeComments: true, omitTrailingSemicolon: true });

/** A declaration as users of the package see it: functions without their bodies. */
function textOf(name: string, symbol: ts.Symbol, declaration: ts.Declaration): string {
  if (ts.isFunctionDeclaration(declaration) || ts.isVariableDeclaration(declaration)) {
    const type = checker.typeToString(
      checker.getTypeOfSymbolAtLocation(symbol, declaration),
      undefined,
      ts.TypeFormatFlags.NoTruncation,
    );
    return `const ${name}: ${type}`;
  }
  if (ts.isClassDeclaration(declaration)) {
    const type = checker.getTypeOfSymbolAtLocation(symbol, declaration);
    const [made] = type.getConstructSignatures();
    const parameters = made === undefined ? '' : checker.signatureToString(made);
    const members = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol));
    return `class ${name} ${parameters} { ${members.map((member) => member.name).join('; ')} }`;
  }
  return printer.printNode(ts.EmitHint.Unspecified, declaration, declaration.getSourceFile());
}

const resolved = (symbol: ts.Symbol): ts.Symbol =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;

function reportOf(entry: string): string {
  const file = program.getSourceFile(join(ROOT, entry));
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) throw new Error(`${entry} exports nothing.`);
  const names = checker.getExportsOfModule(module).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const known: string[] = [];
  const texts: string[] = [];
  for (const given of names) {
    const symbol = resolved(given);
    if (printed.has(symbol)) known.push(given.name);
    else texts.push((symbol.declarations ?? []).map((one) => textOf(given.name, symbol, one)).join('\n'));
    if (symbol.getDocumentationComment(checker).length === 0) unexplained.push(`${entry}: ${given.name}`);
    printed.add(symbol);
    publicNames.add(given.name);
  }
  if (known.length > 0) texts.push(`as above: ${known.join(' ')}`);
  return `### ${entry}: ${names.length} names\n\n${texts.join('\n\n')}\n`;
}

/** The types of this project that a declaration names. */
function namedIn(declaration: ts.Declaration): ts.Symbol[] {
  const found: ts.Symbol[] = [];
  function visit(node: ts.Node): void {
    // Bodies are not public, and neither are private members.
    if (ts.isBlock(node) || ts.isClassDeclaration(node)) return;
    const name = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node)
        ? node.expression
        : undefined;
    const given = name && checker.getSymbolAtLocation(name);
    if (given !== undefined) found.push(resolved(given));
    ts.forEachChild(node, visit);
  }
  visit(declaration);
  return found.filter(({ flags, declarations = [] }) => {
    const isOwn = declarations.some((one) => one.getSourceFile().fileName.startsWith(join(ROOT, 'src')));
    return isOwn && !(flags & ts.SymbolFlags.TypeParameter);
  });
}

/** Types without a public name that the public ones are made of: a change of them is a change of the surface. */
function reachedReport(): string {
  const texts: string[] = [];
  for (const symbol of printed) {
    const isPublic = publicSymbols.has(symbol);
    const declarations = symbol.declarations ?? [];
    if (!isPublic) texts.push(declarations.map((one) => textOf(symbol.name, symbol, one)).join('\n'));
    for (const one of declarations.flatMap(namedIn)) printed.add(one);
  }
  return `### without a public name\n\n${texts.toSorted().join('\n\n')}\n`;
}

const printed = new Set<ts.Symbol>();
const publicNames = new Set<string>();
const unexplained: string[] = [];
const reports = ENTRIES.map(reportOf);
const publicSymbols = new Set(printed);
const head = `${publicNames.size} public names\n`;
const report = [head, ...reports, reachedReport()].join('\n');
if (!process.argv.includes('--check')) writeFileSync(REPORT, report);
else if (readFileSync(REPORT, 'utf8') !== report) {
  console.error('The public types have changed. Run npm run types:report, and look at what it changes.');
  process.exitCode = 1;
}
if (unexplained.length > 0) {
  console.error(`Write a comment above each that says what it means: ${unexplained.join(', ')}`);
  process.exitCode = 1;
}
