/** Memory per retained task: a million tasks with four timeline entries and 60 characters of arguments. */

import { createMemoryHistory } from '../src/history/memory-history.ts';
import { deliverMessage } from '../src/sources/celery/brokers/redis/events.ts';
import { printTable } from './table.ts';
import { batches, context, events, intakeOf } from './traffic.ts';

const TASKS = 1_000_000;
const collect = globalThis.gc as () => void;

function held(): { heap: number; buffers: number } {
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return { heap: heapUsed, buffers: arrayBuffers };
}

const before = held();
const history = createMemoryHistory({ maxTasks: TASKS, maxBytes: 4 * 1024 ** 3 });
const intake = intakeOf(history);
for (const message of batches(events(TASKS, Date.now() - TASKS), 100)) deliverMessage(message, intake.events);
const { tasks, bytes } = await history.reader.getStats(context);
if (tasks !== TASKS) throw new Error(`only ${tasks} tasks are held`);
const after = held();
const per = (value: number) => Math.round(value / TASKS).toString();
const heap = after.heap - before.heap;
const buffers = after.buffers - before.buffers;
printTable(
  `Memory per retained task (${TASKS.toLocaleString('en')} tasks, bytes)`,
  ['', 'bytes'],
  [
    ['JavaScript heap', per(heap)],
    ['typed arrays', per(buffers)],
    ['together', per(heap + buffers)],
    ['what the history counts towards `maxBytes`', per(bytes)],
  ],
);
history.close();
