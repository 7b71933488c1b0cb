import { appendFileSync } from 'node:fs';

/** A table of figures, as `npm run bench -- --json` keeps it. */
export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The file to which `run.ts` has each table appended, as a line of JSON. */
const tables = process.env.BENCH_TABLES;

/** Prints a table in Markdown. */
export function printTable(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  console.log(`### ${title}\n`);
  console.log(`| ${head.join(' | ')} |`);
  console.log(`| ${head.map((_, column) => (column === 0 ? '---' : '---:')).join(' | ')} |`);
  for (const row of rows) console.log(`| ${row.join(' | ')} |`);
  console.log('');
  if (tables !== undefined) {
    appendFileSync(tables, `${JSON.stringify({ title, head, rows } satisfies Table)}\n`);
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
