/**
 * `/api/tasks/?limit=100` with 10,000, 100,000 and 1,000,000 tasks in memory, against a bare Express
 * route that sends a ready buffer of the same bytes, and against a bare `res.json` of the same rows.
 * Server and load generator are processes of their own; both sides are measured in turn.
 */
import { once } from 'node:events';
import { load, startServer } from './load.ts';
import { median, printTable } from './table.ts';

const SIZES = [10_000, 100_000, 1_000_000];
const ROUNDS = 5;
const SECONDS = 2;

/** Requests per second of one short run. */
async function requestsPerSecond(url: string, headers: readonly string[] = []): Promise<number> {
  return (await load(url, { connections: 10, seconds: SECONDS, headers })).rate;
}

/** Measures both sides in turn, several times, because the speed of a machine varies. */
async function compare(
  ours: readonly [string, (readonly string[])?],
  bare: string,
): Promise<{ ours: number; bare: number; ratio: number }> {
  const all: { ours: number; bare: number; ratio: number }[] = [];
  await requestsPerSecond(...ours);
  await requestsPerSecond(bare);
  for (let round = 0; round < ROUNDS; round++) {
    const first = await requestsPerSecond(...ours);
    const second = await requestsPerSecond(bare);
    all.push({ ours: first, bare: second, ratio: first / second });
  }
  const of = (key: 'ours' | 'bare' | 'ratio') => median(all.map((one) => one[key]));
  return { ours: of('ours'), bare: of('bare'), ratio: of('ratio') };
}

const rows: string[][] = [];
const costs = new Map<string, number[]>();
const number = (value: number) => Math.round(value).toLocaleString('en');
for (const count of SIZES) {
  const { server, url } = await startServer('list-server', String(count));
  try {
    const prepared = (await (await fetch(`${url}/prepare`)).json()) as {
      etag: string;
      task: { state: string; name: string; worker: string; queue: string; root_id: string };
    };
    const list = `${url}/monitor/api/tasks/?limit=100`;
    const changing = `${url}/changing/monitor/api/tasks/?limit=100`;
    const say = (label: string, { ours, bare, ratio }: Awaited<ReturnType<typeof compare>>) =>
      rows.push([`${number(count)} tasks, ${label}`, number(ours), number(bare), ratio.toFixed(2)]);
    say('unchanged, `304`', await compare([list, [`If-None-Match: ${prepared.etag}`]], `${url}/bare/buffer`));
    say('unchanged, whole body', await compare([list], `${url}/bare/buffer`));
    say('changed before each request', await compare([changing], `${url}/changing/bare/json`));
    const { state, name, worker, queue, root_id } = prepared.task;
    const filters = Object.entries({ none: '', state, name, worker, queue, root_id });
    for (const [filter, value] of filters) {
      const address = filter === 'none' ? changing : `${changing}&${filter}=${encodeURIComponent(value)}`;
      await requestsPerSecond(address);
      const rates: number[] = [];
      for (let round = 0; round < 3; round++) rates.push(await requestsPerSecond(address));
      const known = costs.get(filter) ?? [];
      known.push(1 / median(rates));
      costs.set(filter, known);
    }
  } finally {
    server.kill();
    await once(server, 'exit');
  }
}
printTable('The task list, 100 rows (requests/s)', ['', 'monitor', 'bare Express', 'ratio'], rows);
printTable(
  'Cost of a changed list, relative to the one with 10,000 tasks',
  ['filter', ...SIZES.map((count) => `${number(count)} tasks`)],
  [...costs].map(([filter, values]) => [
    filter,
    ...values.map((value) => (value / (values[0] as number)).toFixed(2)),
  ]),
);
