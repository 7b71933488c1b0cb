/** Event intake: from raw Redis messages to an updated history, against merely decoding the same messages. */

import { createMemoryHistory } from '../src/history/memory-history.ts';
import { deliverMessage } from '../src/sources/celery/brokers/redis/events.ts';
import { createTaskCounts } from '../src/sources/celery/metrics/meter.ts';
import { median, printTable } from './table.ts';
import { batches, context, events, intakeOf } from './traffic.ts';

const TASKS = 100_000;
const ROUNDS = 7;
const collect = globalThis.gc as () => void;

/** The minimum that any reader of these messages does: JSON, base64, JSON. */
function decode(message: string): unknown {
  const { body } = JSON.parse(message) as { body: string };
  return JSON.parse(Buffer.from(body, 'base64').toString('utf8'));
}

function secondsOf(work: () => void): number {
  collect();
  const start = performance.now();
  work();
  return (performance.now() - start) / 1000;
}

async function measure(
  size: number,
  failing: number,
): Promise<{ decoded: number; folded: number; ratio: number }> {
  const messages = [...batches(events(TASKS, Date.now() - TASKS, failing), size)];
  const count = TASKS * 4;
  const decoded: number[] = [];
  const folded: number[] = [];
  const ratios: number[] = [];
  let kept: unknown;
  for (let round = 0; round <= ROUNDS; round++) {
    const bare = secondsOf(() => {
      for (const message of messages) kept = decode(message);
    });
    const history = createMemoryHistory({ maxTasks: TASKS });
    const intake = intakeOf(history);
    const whole = secondsOf(() => {
      for (const message of messages) deliverMessage(message, intake.events);
      // A read updates the indexes, so that all work is counted.
      void history.reader.getStats(context);
    });
    const { tasks } = await history.reader.getStats(context);
    history.close();
    if (tasks !== TASKS || kept === undefined) throw new Error(`only ${tasks} of ${TASKS} tasks are known`);
    if (round === 0) continue; // warming up
    decoded.push(count / bare);
    folded.push(count / whole);
    ratios.push(bare / whole);
  }
  return { decoded: median(decoded), folded: median(folded), ratio: median(ratios) };
}

const rows: string[][] = [];
for (const [label, size, failing] of [
  ['one event a message', 1, 0],
  ['100 events a message', 100, 0],
  ['one event a message, 5 % of the tasks fail', 1, 0.05],
] as const) {
  const { decoded, folded, ratio } = await measure(size, failing);
  const perSecond = (value: number) => Math.round(value).toLocaleString('en');
  rows.push([label, perSecond(decoded), perSecond(folded), ratio.toFixed(2)]);
}
printTable(
  `Event intake (${(TASKS * 4).toLocaleString('en')} events, events/s of one process)`,
  ['', 'decoding alone', 'decoding and history', 'ratio'],
  rows,
);

/**
 * Processor time of recording the same events with an open meter, and without one: a busy machine disturbs it least.
 */
async function measureMeter(hostname: boolean): Promise<{ plain: number; metered: number; share: number }> {
  const messages = [...batches(events(TASKS, Date.now() - TASKS, 0.05), 100)];
  const plain: number[] = [];
  const metered: number[] = [];
  const shares: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const [without, withMeter] = [false, true].map((isMetered) => {
      const history = createMemoryHistory({ maxTasks: TASKS });
      const intake = intakeOf(history);
      const counts = createTaskCounts({ hostname, mostSeries: 6_750 });
      if (isMetered) history.onEvent(counts.count);
      collect();
      const before = process.cpuUsage();
      for (const message of messages) deliverMessage(message, intake.events);
      const { user, system } = process.cpuUsage(before);
      if (isMetered && [...counts.read()].length === 0) throw new Error('nothing was counted');
      history.close();
      return (user + system) / 1_000_000;
    }) as [number, number];
    if (round === 0) continue; // warming up
    plain.push(without);
    metered.push(withMeter);
    shares.push(withMeter / without - 1);
  }
  return { plain: median(plain), metered: median(metered), share: median(shares) };
}

const costs: string[][] = [];
for (const hostname of [false, true]) {
  const { plain, metered, share } = await measureMeter(hostname);
  const label = hostname ? 'counted by worker, too' : 'counted by name and queue';
  costs.push([label, plain.toFixed(2), metered.toFixed(2), `${(share * 100).toFixed(1)} %`]);
}
printTable(
  `Own metrics (${(TASKS * 4).toLocaleString('en')} events, seconds of processor time)`,
  ['', 'history', 'history and an open meter', 'more'],
  costs,
);
