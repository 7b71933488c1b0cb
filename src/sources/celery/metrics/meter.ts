/** Counts events for `/metrics`, and shows workers and queues there. */
import type { History } from '../../../history/history.ts';
import { scheduler } from '../../../scheduler.ts';
import type { MetricSeries, MetricsSource, ReadContext, SourcePart } from '../../../source.ts';
import type { CeleryParts } from '../answers.ts';
import { FAMILIES } from './families.ts';
import { queueGauges, workerGauges } from './gauges.ts';
import { createTaskCounts } from './task-counts.ts';

/** The metered data. */
export interface MeterContext {
  readonly history: Pick<History, 'index' | 'onEvent'>;
  readonly parts: Pick<CeleryParts, 'queues' | 'workers'>;
  /** Whether the broker counts consumers of its own, as RabbitMQ does. */
  readonly hasConsumers: boolean;
}

/** The share of all series that is for workers and queues. */
const GAUGES = 1 / 4;

/** The part `metrics` of a source. */
export function createMetricsSource(name: string, context: MeterContext): MetricsSource {
  return {
    name,
    openMeter({ hostname, mostSeries }) {
      const mostGauges = Math.floor(mostSeries * GAUGES);
      const tasks = createTaskCounts({ hostname, mostSeries: mostSeries - mostGauges });
      const stop = context.history.onEvent(tasks.count);
      let overflow = 0;
      return {
        families: FAMILIES,
        async collect(read) {
          const [gauges, left] = limited(await readGauges(context, read), mostGauges);
          overflow += left;
          return [...tasks.read(), ...gauges];
        },
        overflow: () => tasks.overflow() + overflow,
        close: stop,
      };
    },
  };
}

/** While the broker is unreachable, nothing is known about workers and queues. */
async function readGauges(
  { history, parts, hasConsumers }: MeterContext,
  read: ReadContext,
): Promise<MetricSeries[]> {
  const { workers, queues } = parts;
  // Requesting the status also asks the workers again; their answers are for the next scrape.
  const heard = isCurrent(workers) ? history.index.heardWorkers() : [];
  const listed = isCurrent(queues) ? await queues.listQueues(read) : [];
  const ofQueues = await scheduler.run('metrics', queueGauges(listed, heard, hasConsumers), read);
  return [...workerGauges(heard), ...ofQueues];
}

function isCurrent(part: SourcePart): boolean {
  return part.status?.().ok !== false;
}

/** @returns the first series up to a number, and how many are left out */
function limited(series: readonly MetricSeries[], most: number): readonly [MetricSeries[], number] {
  let left = most;
  let leftOut = 0;
  const kept = series.map(({ name, samples }) => {
    const all = [...samples];
    const some = all.slice(0, left);
    left -= some.length;
    leftOut += all.length - some.length;
    return { name, samples: some as typeof samples };
  });
  return [kept, leftOut];
}
