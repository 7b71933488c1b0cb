/** How many messages wait in queues, by minute. */

/** The readings of one queue in one minute. */
export interface QueueGauge {
  /** How often it was read. */
  samples: number;
  /** Waiting messages: the most and the last. */
  mostWaiting: number;
  lastWaiting: number;
  /** How often the age of the oldest due message was known; in seconds, the most and the last. */
  agedSamples: number;
  mostAge: number;
  lastAge: number;
  /** How often the message may have been older. */
  atLeastSamples: number;
}

/** Gauges by minute since 1970 and name of the queue, oldest minute first. */
export type QueueGauges = Map<number, Map<string, QueueGauge>>;

/** Most queues of a minute. */
const MAX_QUEUES = 1_000;
/** Most minutes that wait to be written. */
const MAX_MINUTES = 60;

/** How long the oldest due message of a queue has waited, in milliseconds; `null`: not known, or none is due. */
export interface OldestDue {
  readonly ageMs: number | null;
  /** Whether it may have waited for longer. */
  readonly isAtLeast: boolean;
}

/**
 * Adds a reading.
 *
 * @param now milliseconds since 1970
 */
export function addReading(
  gauges: QueueGauges,
  queue: string,
  waiting: number,
  { ageMs, isAtLeast }: OldestDue,
  now: number,
): void {
  const minute = Math.floor(now / 60_000);
  const queues = gauges.get(minute) ?? new Map<string, QueueGauge>();
  if (!gauges.has(minute)) {
    gauges.set(minute, queues);
    const oldest = gauges.keys().next().value;
    if (gauges.size > MAX_MINUTES && oldest !== undefined) gauges.delete(oldest);
  }
  const known = queues.get(queue);
  if (known === undefined && queues.size >= MAX_QUEUES) return;
  const gauge = known ?? emptyGauge();
  queues.set(queue, gauge);
  addToGauge(gauge, waiting, { ageMs, isAtLeast });
}

/** Adds a reading to the gauge of its minute. */
export function addToGauge(gauge: QueueGauge, waiting: number, { ageMs, isAtLeast }: OldestDue): void {
  gauge.samples++;
  gauge.mostWaiting = Math.max(gauge.mostWaiting, waiting);
  gauge.lastWaiting = waiting;
  if (ageMs === null) return;
  gauge.agedSamples++;
  if (isAtLeast) gauge.atLeastSamples++;
  gauge.lastAge = Math.max(0, Math.round(ageMs / 1_000));
  gauge.mostAge = Math.max(gauge.mostAge, gauge.lastAge);
}

/** Nothing was read yet. */
export function emptyGauge(): QueueGauge {
  return {
    ...{ samples: 0, mostWaiting: 0, lastWaiting: 0 },
    ...{ agedSamples: 0, mostAge: 0, lastAge: 0, atLeastSamples: 0 },
  };
}
