/**
 * `npm run bench`: every figure of docs/benchmarks.md, each a ratio of two things measured in turn in
 * the same run, since machines differ and are noisy. `npm run bench -- list intake` runs only those,
 * `npm run bench -- host --only graphs` one of the loads of the benchmark `host`.
 */
import { spawn } from 'node:child_process';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

const PARTS = [
  'list',
  'intake',
  'burst',
  'burst-amqp',
  'metrics',
  'memory',
  'results',
  'steady',
  'deployment',
  'history',
  'replicas',
  'graph',
  'streams',
  'page',
  'bullmq',
  'host',
  'redaction',
  'search-timing',
  'store',
  'turns',
  'first-page',
  'messages',
  'drain',
  'drain-real',
] as const;

function runPart(name: string, options: readonly string[]): Promise<number> {
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  // Memory is measured after collection; a million tasks need more than the default heap.
  const flags = ['--expose-gc', '--max-old-space-size=6000', '--import', 'tsx'];
  const child = spawn(process.execPath, [...flags, file, ...options], { stdio: 'inherit' });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}

const given = process.argv.slice(2);
const firstOption = given.findIndex((word) => word.startsWith('--'));
const asked = firstOption === -1 ? given : given.slice(0, firstOption);
const options = given.slice(asked.length);
const unknown = asked.filter((name) => !PARTS.some((part) => part === name));
if (unknown.length > 0) {
  console.error(`There is no benchmark "${unknown.join('", "')}". Write one of: ${PARTS.join(', ')}.`);
  process.exit(2);
}
console.log(`Node ${process.version}, ${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown processor'}\n`);
let failed = 0;
for (const part of asked.length > 0 ? asked : PARTS) {
  failed += (await runPart(part, options)) === 0 ? 0 : 1;
}
process.exit(failed === 0 ? 0 : 1);
