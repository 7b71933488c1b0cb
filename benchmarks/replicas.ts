/**
 * Instances that share one listener to the broker: the cost of each, and how soon another one listens when the listener
 * is killed. `npm run bench -- replicas`.
 */
import { once } from 'node:events';
import { until } from '../test/helpers/redis-server.ts';
import {
  countStored,
  type Monitor,
  mebibytes,
  run,
  sleep,
  startMonitor,
  startServers,
  stop,
} from './history-kit.ts';
import type { ServerReport } from './history-server.ts';
import { median, printTable } from './table.ts';

const servers = await startServers('Replicas');
const { redis, postgres } = servers;
const database = postgres.url();

/** Instances, tasks a second, and times in seconds. */
const REPLICAS = { instances: 8, rate: 125, seconds: 60, killAfter: 20 };

/** Kills the instance that listens. @returns the seconds until another one does */
async function killLeader(monitors: Monitor[]): Promise<number> {
  const leads = ({ reports }: Monitor): boolean => reports.at(-1)?.leads === true;
  const leader = monitors.find(leads);
  if (leader === undefined) return Number.NaN;
  leader.child.kill('SIGKILL');
  monitors.splice(monitors.indexOf(leader), 1);
  const start = performance.now();
  await until(() => monitors.some(leads), 60_000);
  return (performance.now() - start) / 1_000;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

async function measureReplicas(): Promise<void> {
  const bare = await startMonitor();
  const monitors = await Promise.all(
    Array.from({ length: REPLICAS.instances }, () => startMonitor(redis.url(), database)),
  );
  await until(() => monitors.some(({ reports }) => reports.at(-1)?.leads === true), 60_000);
  const publisher = run('steady-publisher.ts', [
    redis.url(),
    String(REPLICAS.rate),
    String(REPLICAS.seconds),
  ]);
  const ended = once(publisher, 'exit');
  await sleep(5_000);
  const followers = monitors.filter(({ reports }) => reports.at(-1)?.leads === false);
  const all = [bare, ...followers];
  const before = all.map(({ reports }) => reports.at(-1) as ServerReport);
  await sleep(REPLICAS.killAfter * 1_000);
  const [bareShare = 0, ...shares] = all.map(({ reports }, at) => {
    const [from, to] = [before[at] as ServerReport, reports.at(-1) as ServerReport];
    return (to.cpu - from.cpu) / (to.sinceStart - from.sinceStart);
  });
  const rss = followers.map(({ reports }) => (reports.at(-1) as ServerReport).rss);
  const bareRss = (bare.reports.at(-1) as ServerReport).rss;
  const takeovers: number[] = [];
  for (let time = 0; time < 2; time++) {
    takeovers.push(await killLeader(monitors));
    await sleep(5_000);
  }
  await ended;
  await sleep(10_000);
  const tasks = await countStored(postgres);
  for (const monitor of [...monitors, bare]) await stop(monitor);
  printTable(
    `${REPLICAS.instances} instances, one of which listens, ${REPLICAS.rate * 4} events/s`,
    ['', ''],
    [
      [
        'CPU of an instance that does not listen above an app without a monitor, median, most',
        shares.length === 0
          ? ''
          : `${percent(median(shares) - bareShare)}, ${percent(Math.max(...shares) - bareShare)}`,
      ],
      ['its memory above an app without a monitor, MiB', mebibytes(median(rss) - bareRss)],
      [
        'until another instance listened, s, the report of a second included',
        takeovers.map((s) => s.toFixed(1)).join(', '),
      ],
      [
        'tasks stored in the end; the publisher stores no results, so nobody finds again what was not heard',
        `${tasks} of ${REPLICAS.rate * REPLICAS.seconds}`,
      ],
    ],
  );
}

try {
  await measureReplicas();
} finally {
  await servers.close();
}
process.exit(0);
