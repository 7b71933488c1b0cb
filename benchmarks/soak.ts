/**
 * `npm run soak -- --minutes 30`: mixed load, floods of events and restarts of Redis against one host. Measures
 * memory and handles of its process each minute, after garbage collection and without requests. The first fifth
 * is the warm-up. Exits with 1 if the heap or the handles grew after it, or an error escaped into the host.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { Queue, Worker } from 'bullmq';
import { startRedis } from '../test/helpers/redis-server.ts';
import { startServer } from './load.ts';
import { median, printTable } from './table.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
const minutes = Number(values.minutes);
if (!Number.isFinite(minutes) || minutes < 0.5 || minutes > 1_440) {
  console.error('Write how long: npm run soak -- --minutes 30 (0.5 to 1440).');
  process.exit(2);
}
/**
 * One round: load, a pause, a measurement. Redis is restarted in every fifth round, floods of events come in
 * every third.
 */
const ROUND_SECONDS = 25;
const REST_MS = 5_000;
const RATE = 200;
const FLOOD_RATE = 3_000;
/** Allowed growth after the warm-up, of the heap and of each kind of handle. */
const MOST_HEAP_GROWTH = 0.05;
const MOST_MORE_HANDLES = 3;

interface Held {
  readonly heap: number;
  readonly external: number;
  readonly rss: number;
  readonly handles: Readonly<Record<string, number>>;
  readonly escaped: number;
  readonly cpu: number;
  readonly delayP99: number;
  readonly delayMax: number;
}

interface Round {
  readonly held: Held;
  readonly load: {
    statuses: Record<string, number>;
    left: number;
    messages: number;
    canary: number;
    p99: number;
  };
}

const BOTH = [true, false];
const isRestarted = (index: number): boolean => index % 5 === 4;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const script = (name: string, ...args: string[]): ChildProcess => {
  const file = new URL(`./${name}.ts`, import.meta.url).pathname;
  return spawn(process.execPath, ['--import', 'tsx', file, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
};

const redis = await startRedis('--maxmemory-policy', 'noeviction');
const exporter = createServer((_request, response) => {
  response.setHeader('Content-Type', 'text/plain; version=0.0.4');
  response.end('up 1\n'.repeat(1_000));
}).listen(0, '127.0.0.1');
await once(exporter, 'listening');
const { port } = exporter.address() as { port: number };

const connection = { host: '127.0.0.1', port: redis.port };
const queue = new Queue('mail', { connection });
const worker = new Worker(
  'mail',
  async (job) => {
    if (job.data.n % 7 === 0) throw new Error('no such address');
  },
  { connection, removeOnComplete: { count: 1_000 }, removeOnFail: { count: 1_000 } },
);
queue.on('error', () => {});
worker.on('error', () => {});
let added = 0;
const adding = setInterval(() => {
  added += 1;
  void queue.add('send', { n: added, token: 'abc' }, { attempts: 2 }).catch(() => {});
}, 50);

const { server, url } = await startServer('soak-server', redis.url(), `http://127.0.0.1:${port}/metrics`);

async function round(number: number): Promise<Round> {
  const rate = number % 3 === 2 ? FLOOD_RATE : RATE;
  const publisher = script('steady-publisher', redis.url(), String(rate), String(ROUND_SECONDS));
  const loader = script('soak-load', url, String(ROUND_SECONDS));
  let output = '';
  loader.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  if (isRestarted(number)) {
    await sleep((ROUND_SECONDS * 1_000) / 3);
    await redis.kill();
    await sleep(3_000);
    await redis.start();
  }
  await once(loader, 'close');
  publisher.kill();
  await sleep(REST_MS);
  const held = (await (await fetch(`${url}/held`, { headers: { connection: 'close' } })).json()) as Held;
  return { held, load: JSON.parse(output) as Round['load'] };
}

const rounds: Round[] = [];
const end = performance.now() + minutes * 60_000;
const started = performance.now();
try {
  while (performance.now() < end) {
    const one = await round(rounds.length);
    rounds.push(one);
    const { held, load } = one;
    console.log(
      `${((performance.now() - started) / 60_000).toFixed(1)} min: heap ${(held.heap / 1e6).toFixed(1)} MB, ` +
        `rss ${(held.rss / 1e6).toFixed(0)} MB, ${JSON.stringify(held.handles)}, ${JSON.stringify(load)}`,
    );
  }
} finally {
  clearInterval(adding);
  server.kill();
  exporter.close();
  await Promise.race([Promise.allSettled([worker.close(true), queue.close()]), sleep(3_000)]);
  await redis.close();
}

const warm = rounds.slice(Math.max(1, Math.ceil(rounds.length / 5)));
const third = Math.max(1, Math.floor(warm.length / 3));
const [first, last] = [warm.slice(0, third), warm.slice(-third)];
const of = (part: readonly Round[], read: (held: Held) => number): number =>
  median(part.map(({ held }) => read(held)));
const sum = (read: (load: Round['load']) => number): number =>
  rounds.reduce((all, { load }) => all + read(load), 0);
const kinds = [...new Set(rounds.flatMap(({ held }) => Object.keys(held.handles)))].sort();
/** Answers with a status in this hundred, in rounds with or without a restart. */
const answers = (hundred: number, restarted: readonly boolean[]): number => {
  let all = 0;
  for (const [index, { load }] of rounds.entries()) {
    if (!restarted.includes(isRestarted(index))) continue;
    for (const [status, n] of Object.entries(load.statuses)) {
      if (Math.floor(Number(status) / 100) === hundred) all += n;
    }
  }
  return all;
};
const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const number = (value: number): string => Math.round(value).toLocaleString('en');
const escaped = rounds.at(-1)?.held.escaped ?? 0;
const growth = of(last, ({ heap }) => heap) / of(first, ({ heap }) => heap) - 1;
const more = kinds.filter(
  (kind) =>
    of(last, ({ handles }) => handles[kind] ?? 0) - of(first, ({ handles }) => handles[kind] ?? 0) >
    MOST_MORE_HANDLES,
);
printTable(
  `A soak of ${minutes} minutes: after the warm-up, and at the end`,
  ['', 'first third', 'last third'],
  [
    ['heap after collection', mb(of(first, ({ heap }) => heap)), mb(of(last, ({ heap }) => heap))],
    ['outside the heap', mb(of(first, ({ external }) => external)), mb(of(last, ({ external }) => external))],
    ['RSS', mb(of(first, ({ rss }) => rss)), mb(of(last, ({ rss }) => rss))],
    ...kinds.map((kind) => [
      kind,
      String(of(first, ({ handles }) => handles[kind] ?? 0)),
      String(of(last, ({ handles }) => handles[kind] ?? 0)),
    ]),
    [
      "the host's own route, p99",
      ...[first, last].map((part) => `${median(part.map(({ load }) => load.p99)).toFixed(0)} ms`),
    ],
    [
      'event loop, p99',
      ...[first, last].map((part) => `${of(part, ({ delayP99 }) => delayP99).toFixed(0)} ms`),
    ],
  ],
);
printTable(
  'What it went through',
  ['', ''],
  [
    ['answers 2xx and 3xx', number(answers(2, BOTH) + answers(3, BOTH))],
    ['answers 4xx, to requests that were wrong', number(answers(4, BOTH))],
    ['answers 5xx in rounds with a restart of Redis', number(answers(5, [true]))],
    ['answers 5xx in all other rounds', number(answers(5, [false]))],
    ['clients that left early', number(sum(({ left }) => left))],
    ['messages of streams', number(sum(({ messages }) => messages))],
    ['restarts of Redis', String(rounds.filter((_, index) => isRestarted(index)).length)],
    ['requests of the host that failed', number(sum(({ statuses }) => statuses.none ?? 0))],
    ['what escaped into the host', String(escaped)],
    ['jobs added', number(added)],
  ],
);
if (growth > MOST_HEAP_GROWTH) console.error(`The heap grew by ${(growth * 100).toFixed(1)} %.`);
if (more.length > 0) console.error(`There are more of: ${more.join(', ')}.`);
process.exit(growth > MOST_HEAP_GROWTH || more.length > 0 || escaped > 0 ? 1 : 0);
