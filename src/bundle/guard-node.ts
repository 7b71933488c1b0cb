/** Has every entry for Node say first which Node it needs: an old one fails at what it lacks, wherever that is. */
import { readFileSync, writeFileSync } from 'node:fs';

const ENTRIES = ['index', 'node', 'celery', 'bullmq', 'memory', 'sqlite', 'postgres', 'testing', 'command'];

/** Adds the check to the built entries. Run it in the root of the repository, after the build. */
export function guardNode(): void {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
  const check = checkOf(engines.node.replace('>=', ''));
  for (const path of ['dist/node-version.js', 'dist/node-version.cjs']) writeFileSync(path, check);
  for (const entry of ENTRIES) prefix(`dist/${entry}.js`, /^(?:#!.*\n)?/, "import './node-version.js';\n");
  for (const entry of ENTRIES.filter((name) => name !== 'command')) {
    prefix(`dist/${entry}.cjs`, /^'use strict';\n/, "require('./node-version.cjs');\n");
  }
}

/** Works on every Node that reads ES modules. */
function checkOf(needed: string): string {
  const [major, minor] = needed.split('.');
  return `const [major, minor] = process.versions.node.split('.').map(Number);
if (major < ${major} || (major === ${major} && minor < ${minor})) {
  throw new Error(\`express-task-monitor needs Node ${needed} or later; this is Node \${process.versions.node}.\`);
}
`;
}

function prefix(path: string, start: RegExp, line: string): void {
  const text = readFileSync(path, 'utf8');
  if (!start.test(text)) throw new Error(`${path} does not begin as expected.`);
  writeFileSync(
    path,
    text.replace(start, (found) => found + line),
  );
}
