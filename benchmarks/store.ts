/**
 * A history in SQLite and in PostgreSQL: tasks written each second, bytes a task, a page by each filter, one task, charts
 * of rollups, and dropping a day while others read and write. `npm run bench -- store --tasks 10000000`; `--only sqlite`
 * runs one of them, `--at` a file or the URL of an empty database keeps the data, `--steps` runs some of
 * `fill,read,causes,drop`.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { sqliteMissing, sqliteNode } from '../test/helpers/other-node.ts';
import { postgresMissing } from '../test/helpers/postgres.ts';
import type { EngineFigures } from './store-engine.ts';
import { printTable } from './table.ts';

const { values } = parseArgs({
  options: {
    tasks: { type: 'string', default: '200000' },
    only: { type: 'string' },
    at: { type: 'string', default: '' },
    steps: { type: 'string', default: 'fill,read,causes,drop' },
  },
});

const ENGINES = [
  // Node reads TypeScript by itself where it has SQLite.
  { name: 'sqlite', missing: sqliteMissing, command: [sqliteNode, '--disable-warning=ExperimentalWarning'] },
  { name: 'postgres', missing: postgresMissing, command: [process.execPath, '--import', 'tsx'] },
] as const;

const number = (value: number): string => Math.round(value).toLocaleString('en');

function print(name: string, { fill, reads, causes, drop }: EngineFigures): void {
  console.log(`### ${name}, ${number(Number(values.tasks))} tasks of eight days\n`);
  if (fill !== null) {
    const { written, copied, copies, cells, firstWrites, secondWrites, bytesPerTask } = fill;
    const others =
      copied === 0
        ? ''
        : ` ${number(copied)} are copies that the database made of them, with other ids and times, before it built the indexes (${number(copies)} a second with these).`;
    console.log(
      `${number(written)} tasks were written through the store: ${number(firstWrites)} a second for the first time, ${number(secondWrites)} again.${others} ${number(bytesPerTask)} bytes a task. ${number(cells)} rollups.\n`,
    );
  }
  if (reads.length > 0)
    printTable(
      `${name}, reads`,
      ['read', 'p50 ms', 'p95 ms', 'slowest'],
      reads.map((row) => [row.name, row.p50.toFixed(1), row.p95.toFixed(1), row.most.toFixed(1)]),
    );
  if (causes !== null) {
    const { cpuWith, cpuWithout, clockWith, clockWithout } = causes;
    console.log(
      `A failed task takes ${cpuWith.toFixed(1)} µs of CPU to write with its cause, ${cpuWithout.toFixed(1)} without; 1,000 take ${number(clockWith)} and ${number(clockWithout)} ms by the clock.\n`,
    );
  }
  if (drop !== null)
    console.log(
      `A day of ${number(drop.tasks)} tasks was dropped in ${number(drop.all)} ms. Meanwhile the longest read took ${number(drop.read)} ms, and the longest write of 250 tasks ${number(drop.write)} ms.\n`,
    );
}

for (const { name, missing, command } of ENGINES) {
  if (values.only !== undefined && values.only !== name) continue;
  if (missing !== null) {
    console.log(`${name}: ${missing}\n`);
    continue;
  }
  const [program, ...flags] = command;
  const file = fileURLToPath(new URL('./store-engine.ts', import.meta.url));
  const running = promisify(execFile)(program, [...flags, file, name, values.tasks, values.steps, values.at]);
  running.child.stderr?.pipe(process.stderr);
  print(name, JSON.parse((await running).stdout) as EngineFigures);
}
