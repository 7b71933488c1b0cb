/** Event intake: from raw Redis messages to an updated history, against merely decoding the same messages. */

import { createMemoryHistory } from '../src/history/memory-history.ts';
import { deliverMessage } from '../src/sources/celery/brokers/redis/events.ts';
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
