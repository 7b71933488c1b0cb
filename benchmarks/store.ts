/**
 * A history in SQLite and in PostgreSQL: tasks written each second, a page by each filter, one task, dropping a day, and
 * bytes a task. `npm run bench -- store --tasks 1000000`; `--only sqlite` runs one of them.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { sqliteMissing, sqliteNode } from '../test/helpers/other-node.ts';
import { postgresMissing } from '../test/helpers/postgres.ts';
import type { EngineFigures } from './store-engine.ts';
import { printTable } from './table.ts';

const { values } = parseArgs({
  options: { tasks: { type: 'string', default: '200000' }, only: { type: 'string' } },
});

const ENGINES = [
  // Node reads TypeScript by itself where it has SQLite.
  { name: 'sqlite', missing: sqliteMissing, command: [sqliteNode, '--disable-warning=ExperimentalWarning'] },
  { name: 'postgres', missing: postgresMissing, command: [process.execPath, '--import', 'tsx'] },
] as const;

const number = (value: number): string => Math.round(value).toLocaleString('en');

for (const { name, missing, command } of ENGINES) {
  if (values.only !== undefined && values.only !== name) continue;
  if (missing !== null) {
    console.log(`${name}: ${missing}\n`);
    continue;
  }
  const [program, ...flags] = command;
  const file = fileURLToPath(new URL('./store-engine.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(program, [...flags, file, name, values.tasks]);
  const { firstWrites, secondWrites, bytesPerTask, times } = JSON.parse(stdout) as EngineFigures;
  printTable(
    `${name}, ${number(Number(values.tasks))} tasks of eight days`,
    ['read', 'p50 ms', 'p95 ms'],
    times.map((row) => [row.name, row.p50.toFixed(1), row.p95.toFixed(1)]),
  );
  console.log(
    `Written each second: ${number(firstWrites)} for the first time, ${number(secondWrites)} again. ${number(bytesPerTask)} bytes a task.\n`,
  );
}
