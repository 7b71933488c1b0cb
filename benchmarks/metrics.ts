/** A scrape of own metrics: processor time, and the longest turn of the event loop. */
import { createOwnExporter } from '../src/metrics/exposition.ts';
import { meteredSource } from './metered.ts';
import { median, printTable } from './table.ts';

const ROUNDS = 30;
const collect = globalThis.gc as () => void;

/** Milliseconds of work in each turn of the event loop until a promise is settled. */
async function turnsOf(work: () => Promise<unknown>): Promise<number[]> {
  const turns: number[] = [];
  let isOver = false;
  let before = process.cpuUsage();
  const look = (): void => {
    const { user, system } = process.cpuUsage(before);
    turns.push((user + system) / 1_000);
    before = process.cpuUsage();
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  return turns;
}

const rows: string[][] = [];
for (const format of ['text', 'openmetrics'] as const) {
  const source = meteredSource();
  const meter = source.openMeter({ hostname: false, mostSeries: 9_000 });
  source.fill();
  const context = { signal: new AbortController().signal };
  const scrape = async (): Promise<string> => {
    // A new exporter: it keeps its exposition for a second.
    const exporter = createOwnExporter(null);
    exporter.add({ ...meter, source: 'bench', collect: async () => meter.collect(context), close: () => {} });
    return (await exporter.expose(format)).body.toString();
  };
  const series = (await scrape()).split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
  const totals: number[] = [];
  const longest: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    collect();
    const turns = await turnsOf(scrape);
    if (round === 0) continue; // warming up
    totals.push(turns.reduce((sum, ms) => sum + ms, 0));
    longest.push(Math.max(...turns));
  }
  meter.close();
  rows.push([format, String(series), median(totals).toFixed(1), median(longest).toFixed(1)]);
}
printTable(
  'A scrape of own metrics (milliseconds of processor time)',
  ['format', 'series', 'whole', 'longest turn'],
  rows,
);
process.exit(0);
