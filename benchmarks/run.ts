/**
 * `npm run bench`: all figures of docs/benchmarks.md. Each is a ratio of two things measured in turn in the
 * same run, because machines differ and their speed varies. `npm run bench -- list intake` runs only these.
 */
import { spawn } from 'node:child_process';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

const PARTS = [
  'list',
  'intake',
  'burst',
  'memory',
  'results',
  'steady',
  'graph',
  'streams',
  'page',
  'bullmq',
] as const;

function runPart(name: string): Promise<number> {
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  // Memory is measured after collection; a million tasks need more than the default heap.
  const flags = ['--expose-gc', '--max-old-space-size=6000', '--import', 'tsx'];
  const child = spawn(process.execPath, [...flags, file], { stdio: 'inherit' });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !PARTS.some((part) => part === name));
if (unknown.length > 0) {
  console.error(`There is no benchmark "${unknown.join('", "')}". Write one of: ${PARTS.join(', ')}.`);
  process.exit(2);
}
console.log(`Node ${process.version}, ${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown processor'}\n`);
let failed = 0;
for (const part of asked.length > 0 ? asked : PARTS) failed += (await runPart(part)) === 0 ? 0 : 1;
process.exit(failed === 0 ? 0 : 1);
