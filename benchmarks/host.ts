/**
 * The effect of different loads on the routes of the host beside the monitor: each attack, and the same load on a bare
 * Express route (or, for events, on a bare subscriber of Redis). Host and load run in separate processes; this one
 * requests the canary route. `npm run bench -- host --only graphs` measures one of them. Ends after 3 minutes.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ATTACKS, type Attack } from './host-attacks.ts';
import { askEvenly, askOnce, PATIENCE_MS, secondsUntilNormal, watchMemory } from './host-probes.ts';
import { end, type Host, startHost, startLoad, startRedis } from './host-processes.ts';
import type { HostCommand, HostReport } from './host-server.ts';
import { printTable } from './table.ts';

const TOTAL_MS = 150_000;
const CONTROL = '— the same load on a bare route';
const CANARY_MS = 10;
const OTHER_MS = 250;
/** The events have arrived when their number has not grown for this long; answers are shared for a second. */
const SETTLE_MS = 1_500;
const SETTLE_TRIES = 10;

/** The effect of a load on a host. */
interface Outcome extends HostReport {
  readonly canary: readonly number[];
  readonly others: readonly number[];
  /** Answers by status, or messages published. */
  readonly counts: Readonly<Record<string, number>>;
  /** Largest resident size while it lasted, in MB. */
  readonly rss: number;
  /** Seconds after its end until a list was answered as usual; `null` if not within the patience. */
  readonly normal: number | null;
}

const endBy = performance.now() + TOTAL_MS;
function command(host: Host, text: HostCommand): void {
  host.process.send(text);
}

/** Runs loads at one host, round after round, and measures the host meanwhile. */
async function measure(
  host: Host,
  rounds: readonly (readonly (readonly string[])[])[],
  hasMonitor: boolean,
): Promise<Outcome> {
  const list = `${host.url}/monitor/api/tasks/?limit=1`;
  const counts: Record<string, number> = {};
  const memory = watchMemory(host.process.pid);
  const canary: number[] = [];
  const others: number[] = [];
  let normal: number | null = null;
  command(host, 'start');
  for (const round of rounds) {
    const loads = await Promise.all(round.map(startLoad));
    const stopCanary = askEvenly(`${host.url}/canary`, CANARY_MS);
    const stopOthers = hasMonitor ? askEvenly(`${host.url}/monitor/api/workers/`, OTHER_MS) : async () => [];
    for (const load of loads) {
      const { value = '{}' } = await load.lines.next();
      for (const [key, count] of Object.entries(JSON.parse(value) as Record<string, number>)) {
        counts[key] = (counts[key] ?? 0) + count;
      }
      await end(load.process);
    }
    if (hasMonitor) normal = await secondsUntilNormal(list);
    canary.push(...(await stopCanary()));
    others.push(...(await stopOthers()));
  }
  const reported = once(host.process, 'message') as Promise<[HostReport]>;
  command(host, 'stop');
  const [report] = await reported;
  return { ...report, canary, others, counts, rss: memory(), normal };
}

/** Requests: both sides at the same host. */
async function sendRequests(attack: Attack, host: Host): Promise<void> {
  const { status, bytes } = await askOnce(`${host.url}${attack.requests?.target(0)}`);
  const control = await measure(host, [[[`${host.url}/bare/${status || 200}/${bytes}`, attack.name]]], false);
  const outcome = await measure(host, [[[host.url, attack.name]]], true);
  rows.push(rowOf(attack.label, outcome), rowOf(CONTROL, control));
}

/** Events, and requests behind them: each side has a host of its own, which begins with an empty history. */
async function publishEvents(attack: Attack, redis: string): Promise<void> {
  const events = [redis, attack.name, 'events'];
  const roundsAt = (url: string): string[][][] => {
    if (attack.requests === undefined) return [[events]];
    const requests = [url, attack.name];
    return attack.isTogether ? [[events, requests]] : [[events], [requests]];
  };
  const bytes = attack.isTogether ? 5_000 : 500_000;
  const bare = await startHost('bare', redis);
  const control = await measure(bare, roundsAt(`${bare.url}/bare/200/${bytes}`), false);
  await end(bare.process);
  const host = await startHost('celery', redis);
  if (attack.fill !== undefined) await fill(host, [redis, attack.name, 'fill']);
  const outcome = await measure(host, roundsAt(host.url), true);
  rows.push(rowOf(attack.label, outcome), rowOf(CONTROL, control));
  await reportArrivals(attack, host);
  await end(host.process);
}

/** Publishes the tasks that the host has when the load begins. */
async function fill(host: Host, args: readonly string[]): Promise<void> {
  const load = await startLoad(args);
  await load.lines.next();
  await end(load.process);
  await settled(host);
}

/** The figures of the history once the host has processed all waiting messages. */
async function settled(host: Host): Promise<Readonly<Record<string, number>>> {
  let config: Record<string, number> = {};
  for (let before = -1, tries = 0; tries < SETTLE_TRIES; tries += 1) {
    const answer = await fetch(`${host.url}/monitor/api/components/`, {
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    config = ((await answer.json()) as { history: { config: Record<string, number> } }).history.config;
    if (config.events_received === before) break;
    before = config.events_received ?? 0;
    await sleep(SETTLE_MS);
  }
  return config;
}

async function reportArrivals({ label, events, fill: before }: Attack, host: Host): Promise<void> {
  const { events_received: received = 0, tasks = 0, evicted = 0, workers = 0 } = await settled(host);
  const published = (events?.count ?? 0) + (before?.count ?? 0);
  arrivals.push([label, ...[published, received, tasks, evicted, workers].map(String)]);
}

function rowOf(label: string, { canary, others, counts, loop, cpu, rss, normal }: Outcome): string[] {
  const sorted = [...canary].sort((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0);
  const answers = Object.entries(counts);
  const all = answers.reduce((sum, [, count]) => sum + count, 0);
  return [
    label,
    at(0.5),
    at(0.99),
    at(1),
    loop.toFixed(0),
    others.length === 0 ? '' : Math.max(...others).toFixed(0),
    others.length === 0 ? '' : normal === null ? `over ${PATIENCE_MS / 1_000}` : normal.toFixed(1),
    answers.map(([status, count]) => `${count} × ${status}`).join(', '),
    (cpu / Math.max(1, all)).toFixed(2),
    rss.toFixed(0),
  ];
}

const onlyAt = process.argv.indexOf('--only');
const only = onlyAt === -1 ? null : (process.argv[onlyAt + 1] ?? '').split(',');
const names = ATTACKS.map(({ name }) => name);
const unknown = (only ?? []).filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`There is no load "${unknown.join('", "')}". Write one of: ${names.join(', ')}.`);
  process.exit(2);
}
const rows: string[][] = [];
const arrivals: string[][] = [];
let redis: string | null = null;
const wanted = ATTACKS.filter(({ name }) => only?.includes(name) ?? true);
let host: Host | null = null;
let kind: Attack['host'] | null = null;
for (const attack of wanted) {
  if (performance.now() > endBy) {
    rows.push([attack.label, 'left out: the time is up']);
  } else if (attack.events === undefined) {
    if (host !== null && kind !== attack.host) {
      await end(host.process);
      host = null;
    }
    host ??= await startHost(attack.host, '');
    kind = attack.host;
    await sendRequests(attack, host);
  } else {
    redis ??= await startRedis();
    if (redis === null) rows.push([attack.label, 'left out: redis-server is not installed']);
    else await publishEvents(attack, redis);
  }
}
printTable(
  'What loads do to the host beside the monitor (100,000 tasks, milliseconds)',
  [
    '',
    'canary p50',
    'p99',
    'max',
    'longest loop delay',
    'another monitor route, max',
    'seconds until normal',
    'answers',
    'CPU each',
    'RSS, MB',
  ],
  rows,
);
if (arrivals.length > 0)
  printTable(
    'Events that arrived',
    ['', 'published', 'received', 'tasks held', 'evicted', 'workers'],
    arrivals,
  );
process.exit(0);
