/** A source with some 5,000 series of Celery's metrics. */
import type { HistoryReader } from '../src/history/history.ts';
import { createMemoryHistory } from '../src/history/memory-history.ts';
import type { Meter, MeterOptions } from '../src/source.ts';
import { openMeter } from '../src/sources/celery/metrics/meter.ts';

/** Names of tasks; each has 41 series. */
const NAMES = 122;

/** A meter counts only what happens once it is open: fill it then. */
export function meteredSource(): {
  openMeter(options: MeterOptions): Meter;
  readonly reader: HistoryReader;
  fill(): void;
} {
  const history = createMemoryHistory();
  const parts = {
    workers: { name: 'bench', listWorkers: () => [] },
    queues: { name: 'bench', listQueues: () => [] },
  };
  return {
    openMeter: (options) => openMeter({ history, parts, hasConsumers: false }, options),
    reader: history.reader,
    fill() {
      const time = Date.now();
      const base = { origin: 'event' as const, time };
      for (let n = 0; n < NAMES; n++) {
        const id = `task-${n}`;
        history.writer.recordTask({ ...base, id, type: 'sent', name: `shop.task_${n}`, queue: 'celery' });
        history.writer.recordTask({ ...base, id, type: 'started', time: time + n, worker: 'w1@alpha' });
        history.writer.recordTask({ ...base, id, type: 'succeeded', time: time + 2 * n, runtime: n / 10 });
      }
    },
  };
}
