// Records far more than may be kept, in steps, and prints what is held and what the process has in memory
// before and after. Needs --expose-gc.
import { memorySources } from 'express-task-monitor/memory';

const TASKS = 300_000;
const STEP = 1_000;
const TIME = Date.UTC(2026, 10, 21);
const context = { signal: new AbortController().signal };
const heap = () => {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
};
/** Parts of one large text: whoever keeps a slice of it as it is keeps all of it. */
const page = 'abcdefghij'.repeat(100_000);

const sources = memorySources({ retention: { maxTasks: 10_000, maxBytes: 64 * 2 ** 20 } });
const before = heap();
for (let from = 0; from < TASKS; from += STEP) {
  const text = `${from}${page}`;
  for (let number = from; number < from + STEP; number += 1) {
    const id = `task-${number}`;
    const timestamp = TIME + number;
    const args = text.slice(number - from, number - from + 200);
    sources.record({ id, state: 'RECEIVED', name: 'shop.pay', worker: 'w1', args, timestamp });
    sources.record({ id, state: 'STARTED', worker: 'w1', timestamp });
    sources.record({ id, state: 'SUCCESS', result: args, runtime: 0.1, timestamp });
  }
  await new Promise((resolve) => setImmediate(resolve));
}
const { tasks, evicted, bytes, eventsReceived } = await sources.history.getHistoryStats(context);
const { rss } = process.memoryUsage();
const grown = heap() - before;
process.stdout.write(JSON.stringify({ tasks, evicted, bytes, eventsReceived, rss, grown }));
