import type { History } from '../../history/history.ts';
import { createMemoryHistory } from '../../history/memory-history.ts';
import type { RetentionOptions } from '../../history/retention.ts';
import { withEngine } from '../../source/bundles.ts';
import type { Meter, MeterOptions } from '../../source.ts';
import type { CeleryParts } from './answers.ts';
import { type LiveOptions, openLive } from './live.ts';
import { type MeterContext, openMeter } from './metrics/meter.ts';

/** Longest text of a stored value in characters, unless `retention.maxValueLength` is set. */
const VALUE_LENGTH = 65_536;

/** The parts of a Celery source, for any broker and result backend. */
export interface CelerySourceOptions extends Omit<LiveOptions, 'valueLength'> {
  /** Limits on the history in memory. */
  readonly retention: RetentionOptions;
}

/** A source that can be closed. */
export type ClosableParts = CeleryParts & {
  readonly experimental: { openMeter(options: MeterOptions): Meter };
  close(): Promise<void>;
};

/** A Celery source: a history in memory, its collector, and its answers. */
export function createCelerySource(options: CelerySourceOptions): ClosableParts {
  const { retention, broker, redactor = null } = options;
  const history = createMemoryHistory({ ...retention, redactor, eventless: broker === null });
  const live = openLive({ ...options, valueLength: valueLengthOf(retention) }, history);
  return closable(live.parts, meterOf(options, history), async () => {
    await live.close();
    history.close();
  });
}

/** Longest text to make of one stored value, in characters. */
export function valueLengthOf({ maxValueLength = VALUE_LENGTH }: RetentionOptions): number {
  return maxValueLength;
}

/** The metered data of a deployment that is collected here. RabbitMQ counts consumers, and lists no messages. */
function meterOf({ broker }: Pick<LiveOptions, 'broker'>, history: History): Omit<MeterContext, 'parts'> {
  return { history, hasConsumers: broker?.queues?.listsMessages === false };
}

/** The parts of a Celery source, which are closed once. */
export function closable(
  parts: CeleryParts,
  meter: Omit<MeterContext, 'parts'>,
  close: () => Promise<void>,
): ClosableParts {
  let closing: Promise<void> | null = null;
  const experimental = {
    ...parts.experimental,
    openMeter: (options: MeterOptions) => openMeter({ ...meter, parts }, options),
  };
  return {
    ...withEngine({ ...parts, experimental }, 'celery'),
    close() {
      closing ??= close();
      return closing;
    },
  };
}
