/** A day of queues in memory, by minute: how many messages waited, entered and were taken out. */
import { type DepthPoint, growingSince, type QueueSample } from '../../select/queue-depths.ts';
import type { GrowingQueue, RecentMinute } from '../../source.ts';

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

/** How long the oldest due message of a queue has waited, in milliseconds; `null`: not known, or none is due. */
export interface OldestDue {
  readonly ageMs: number | null;
  /** Whether it may have waited for longer. */
  readonly isAtLeast: boolean;
}

/** What happens to messages of a queue. */
export type QueueMove = 'sent' | 'received' | 'started';

/** Queues by minute. Times in milliseconds since 1970. */
export type QueueHistory = ReturnType<typeof createQueueHistory>;

const MINUTE_MS = 60_000;
/** Minutes that are kept: a day. */
const MAX_MINUTES = 1_440;
/** Most minutes of all queues together, about 4 MB: beyond it, the oldest are dropped. */
const MAX_ENTRIES = 20_000;
/** Most queues of a minute. */
const MAX_QUEUES = 1_000;
/** Stands for queues that are not known: no queue has this name. */
const UNKNOWN = '\0';

type QueueMinute = QueueGauge & Record<QueueMove, number>;

export function createQueueHistory() {
  const day: QueueDay = { minutes: new Map(), entries: 0, newest: 0 };
  return {
    addReading(queue: string, waiting: number, oldest: OldestDue, now: number): void {
      const entry = entryOf(day, queue, now, now);
      if (entry !== null) addToGauge(entry, waiting, oldest);
    },
    /** @param queue `null`: not known */
    addMove(move: QueueMove, queue: string | null, time: number, now: number): void {
      const entry = entryOf(day, queue ?? UNKNOWN, time, now);
      if (entry !== null) entry[move]++;
    },
    /** Adds the stored counts of a minute. A larger count in memory stays. */
    absorb: (sample: QueueSample): void => absorb(day, sample),
    /** The readings of a minute since 1970 and of later ones. */
    gauges: (
      from: number,
    ): Iterable<{ readonly minute: number; readonly queue: string; readonly gauge: QueueGauge }> =>
      gaugesIn(day, from),
    /** Everything that is known, by minute. @param queues only these; empty: all */
    samples: (queues: readonly string[] = []): Iterable<QueueSample> => samplesIn(day, queues),
    /** The queues that grow now. */
    growing: (now: number): readonly GrowingQueue[] => growingIn(samplesIn(day, []), now),
    /** The last minutes of a queue, oldest first. */
    recent: (queue: string, now: number): readonly RecentMinute[] => recentOf(day, queue, now),
    clear(): void {
      day.minutes.clear();
      day.entries = 0;
    },
  };
}

const NO_READING: QueueGauge = {
  samples: 0,
  mostWaiting: 0,
  lastWaiting: 0,
  agedSamples: 0,
  mostAge: 0,
  lastAge: 0,
  atLeastSamples: 0,
};

/** The entries by minute since 1970 and queue. */
interface QueueDay {
  readonly minutes: Map<number, Map<string, QueueMinute>>;
  entries: number;
  newest: number;
}

/** `null`: too old, or there are too many queues. */
function entryOf(day: QueueDay, queue: string, time: number, now: number): QueueMinute | null {
  const minute = Math.floor(Math.min(time, now) / MINUTE_MS);
  // A time that is NaN has no minute.
  if (!(minute > Math.max(day.newest, Math.floor(now / MINUTE_MS)) - MAX_MINUTES)) return null;
  if (minute > day.newest) {
    day.newest = minute;
    dropOld(day);
  }
  const queues = day.minutes.get(minute) ?? new Map<string, QueueMinute>();
  day.minutes.set(minute, queues);
  const known = queues.get(queue);
  if (known !== undefined) return known;
  if (queues.size >= MAX_QUEUES) return null;
  const entry = { ...NO_READING, sent: 0, received: 0, started: 0 };
  queues.set(queue, entry);
  day.entries++;
  return entry;
}

function dropOld(day: QueueDay): void {
  const { minutes, newest } = day;
  if (day.entries <= MAX_ENTRIES && minutes.size < MAX_MINUTES) return;
  for (const minute of [...minutes.keys()].sort((a, b) => a - b)) {
    if (day.entries <= MAX_ENTRIES && minute > newest - MAX_MINUTES) break;
    day.entries -= minutes.get(minute)?.size ?? 0;
    minutes.delete(minute);
  }
}

/** Adds a reading to the gauge of its minute. */
function addToGauge(gauge: QueueGauge, waiting: number, { ageMs, isAtLeast }: OldestDue): void {
  gauge.samples++;
  gauge.mostWaiting = Math.max(gauge.mostWaiting, waiting);
  gauge.lastWaiting = waiting;
  if (ageMs === null) return;
  gauge.agedSamples++;
  if (isAtLeast) gauge.atLeastSamples++;
  gauge.lastAge = Math.max(0, Math.round(ageMs / 1_000));
  gauge.mostAge = Math.max(gauge.mostAge, gauge.lastAge);
}

function absorb(day: QueueDay, sample: QueueSample): void {
  const { queue, at, mostWaiting, lastWaiting, age, isAtLeast } = sample;
  const entry = entryOf(day, queue ?? UNKNOWN, at, Math.max(at, day.newest * MINUTE_MS));
  if (entry === null) return;
  for (const move of ['sent', 'received', 'started'] as const)
    entry[move] = Math.max(entry[move], sample[move]);
  if (lastWaiting === null || entry.samples > 0) return;
  const oldest = { ageMs: age === null ? null : age * 1_000, isAtLeast };
  addToGauge(entry, Math.max(lastWaiting, mostWaiting ?? 0), oldest);
  entry.lastWaiting = lastWaiting;
}

function* gaugesIn({ minutes }: QueueDay, from: number): ReturnType<QueueHistory['gauges']> {
  for (const [minute, queues] of minutes) {
    if (minute < from) continue;
    for (const [queue, gauge] of queues)
      if (queue !== UNKNOWN && gauge.samples > 0) yield { minute, queue, gauge };
  }
}

function* samplesIn({ minutes }: QueueDay, queues: readonly string[]): Iterable<QueueSample> {
  const asked = new Set(queues);
  for (const [minute, known] of minutes) {
    for (const [name, entry] of known) {
      if (name === UNKNOWN || asked.size === 0 || asked.has(name)) yield sampleOf(name, minute, entry);
    }
  }
}

function sampleOf(name: string, minute: number, entry: QueueMinute): QueueSample {
  const { samples, mostWaiting, lastWaiting, agedSamples, mostAge, atLeastSamples } = entry;
  const { sent, received, started } = entry;
  const isRead = samples > 0;
  return {
    queue: name === UNKNOWN ? null : name,
    at: minute * MINUTE_MS,
    mostWaiting: isRead ? mostWaiting : null,
    lastWaiting: isRead ? lastWaiting : null,
    age: agedSamples > 0 ? mostAge : null,
    isAtLeast: atLeastSamples > 0,
    sent,
    received,
    started,
  };
}

/** Minutes that {@link recentOf} returns. */
const RECENT = 10;

function recentOf({ minutes }: QueueDay, queue: string, now: number): readonly RecentMinute[] {
  const last = Math.floor(now / MINUTE_MS);
  const recent: RecentMinute[] = [];
  for (let minute = last - RECENT + 1; minute <= last; minute++) {
    const known = minutes.get(minute);
    const entry = known?.get(queue);
    if (entry === undefined) continue;
    const elsewhere = known?.get(UNKNOWN);
    // Messages of unknown queues may be of this one. An engine that does not report receiving reports starts.
    const isTakenElsewhere = elsewhere !== undefined && elsewhere.received + elsewhere.started > 0;
    recent.push({
      at: minute * MINUTE_MS,
      waiting: entry.samples > 0 ? entry.lastWaiting : null,
      taken: isTakenElsewhere ? null : entry.received > 0 ? entry.received : entry.started,
    });
  }
  return recent;
}

function growingIn(samples: Iterable<QueueSample>, now: number): readonly GrowingQueue[] {
  const points = new Map<string, DepthPoint[]>();
  for (const { queue, at, lastWaiting } of samples) {
    if (queue === null || lastWaiting === null) continue;
    const known = points.get(queue) ?? [];
    points.set(queue, known);
    known.push({ at, waiting: lastWaiting });
  }
  return [...points].flatMap(([queue, depths]) => {
    depths.sort((a, b) => a.at - b.at);
    const since = growingSince(depths, now);
    const from = depths.find(({ at }) => at === since);
    const last = depths.at(-1);
    return since === null || from === undefined || last === undefined
      ? []
      : [{ queue, since, from: from.waiting, waiting: last.waiting }];
  });
}
