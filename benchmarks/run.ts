/**
 * `npm run bench`: every figure of docs/benchmarks.md, each a ratio of two things measured in turn in
 * the same run, since machines differ and are noisy. `npm run bench -- list intake` runs only those,
 * `npm run bench -- host --only graphs` one of the loads of the benchmark `host`. With `--json` in front of all,
 * the tables of what was run are kept in docs/benchmarks.json.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Table } from './table.ts';

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

/** What `docs/benchmarks.json` has of a benchmark. */
interface Kept {
  readonly version: string;
  /** `YYYY-MM-DD` */
  readonly date: string;
  readonly node: string;
  readonly processor: string;
  readonly cores: number;
  readonly tables: readonly Table[];
}

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const KEPT = join(ROOT, 'docs/benchmarks.json');
const processor = cpus()[0]?.model ?? 'unknown processor';

function runPart(name: string, options: readonly string[], tables?: string): Promise<number> {
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  // Memory is measured after collection; a million tasks need more than the default heap.
  const flags = ['--expose-gc', '--max-old-space-size=6000', '--import', 'tsx'];
  const env = { ...process.env, ...(tables === undefined ? {} : { BENCH_TABLES: tables }) };
  const child = spawn(process.execPath, [...flags, file, ...options], { stdio: 'inherit', env });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}

/** Runs a benchmark and keeps its tables in place of those that it had, unless it failed. */
async function keepPart(name: string, options: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'task-monitor-bench-'));
  try {
    const lines = join(folder, 'tables');
    const code = await runPart(name, options, lines);
    if (code !== 0) return code;
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const tables = readFileSync(lines, 'utf8').trim().split('\n');
    const kept: Kept = {
      version,
      date: new Date().toISOString().slice(0, 10),
      node: process.version,
      processor,
      cores: cpus().length,
      tables: tables.map((line) => JSON.parse(line) as Table),
    };
    const all = existsSync(KEPT) ? (JSON.parse(readFileSync(KEPT, 'utf8')) as Record<string, Kept>) : {};
    writeFileSync(KEPT, `${JSON.stringify({ ...all, [name]: kept }, null, 2)}\n`);
    return 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const isKept = process.argv[2] === '--json';
const given = process.argv.slice(isKept ? 3 : 2);
const firstOption = given.findIndex((word) => word.startsWith('--'));
const asked = firstOption === -1 ? given : given.slice(0, firstOption);
const options = given.slice(asked.length);
const unknown = asked.filter((name) => !PARTS.some((part) => part === name));
if (unknown.length > 0) {
  console.error(`There is no benchmark "${unknown.join('", "')}". Write one of: ${PARTS.join(', ')}.`);
  process.exit(2);
}
console.log(`Node ${process.version}, ${cpus().length} cores, ${processor}\n`);
let failed = 0;
for (const part of asked.length > 0 ? asked : PARTS) {
  failed += (await (isKept ? keepPart : runPart)(part, options)) === 0 ? 0 : 1;
}
process.exit(failed === 0 ? 0 : 1);
