/** Who works for a queue: its workers, their slots, and how fast they take tasks. */
import type { JudgedQueue, JudgedWorker, SourceSituation } from '../findings/finding.ts';
import { tasksByWorker } from '../findings/rules/workers.ts';
import type { Activity, RunningTask } from '../source.ts';
import { addTo } from '../values.ts';

/** The data about one source that shows why its tasks wait. */
export type WaitingSituation = Pick<SourceSituation, 'activity' | 'queues' | 'workers'>;

/** What is known about one queue. */
export interface Crew {
  readonly name: string;
  /** Its row; `undefined`: the source lists no queues, or not this one. */
  readonly queue: JudgedQueue | undefined;
  /** Number of waiting tasks; `null`: unknown. */
  readonly waiting: number | null;
  /** Number of its consumers; `null`: unknown. */
  readonly consumers: number | null;
  /** Online workers that are known to consume from it. */
  readonly workers: readonly JudgedWorker[];
  /** How many tasks can run at a time; `null`: unknown. */
  readonly slots: number | null;
  /** How many run; `null`: unknown. */
  readonly running: number | null;
  /** Tasks that workers take per second, over the last minutes; `null`: unknown. */
  readonly pace: number | null;
  /** Usual seconds of a run; `null`: unknown. */
  readonly runSeconds: number | null;
}

/** Looks up queues and workers of a source. */
export type Crews = ReturnType<typeof crewsOf>;

/** The tasks that a worker runs. */
export interface Running {
  readonly count: number;
  /** The one that has run for longest; `undefined`: unknown. */
  readonly longest: RunningTask | undefined;
}

/** The parts of a source by name. @param now milliseconds since 1970 */
export function crewsOf(situation: WaitingSituation, now: number) {
  const { activity, workers, queues } = situation;
  const byName = new Map((workers ?? []).map((worker) => [worker.hostname, worker]));
  const rows = new Map((queues ?? []).map((queue) => [queue.name, queue]));
  const waiting = new Map((activity?.open.waiting ?? []).map(({ queue, count }) => [queue, count]));
  const online = (workers ?? []).filter(({ status }) => status === 'online');
  const byQueue = new Map<string, JudgedWorker[]>();
  for (const worker of online) for (const queue of worker.queues ?? []) addTo(byQueue, queue, worker);
  const areQueuesKnown = byName.size > 0 && online.every((worker) => worker.queues !== null);
  const isSeen = activity != null && activity.blind === null;
  const held = tasksByWorker(isSeen ? activity.open.running : []);

  function running({ hostname, active }: JudgedWorker): Running | null {
    const own = held.get(hostname) ?? [];
    if (own.length === 0 && !(isSeen && activity.open.isWhole)) {
      return active === null ? null : { count: active, longest: undefined };
    }
    // A worker that reports fewer running tasks has ended some of these unseen.
    return { count: Math.min(own.length, active ?? own.length), longest: own[0] };
  }

  function makeCrew(name: string): Crew {
    const own = byQueue.get(name) ?? [];
    const queue = rows.get(name);
    return {
      name,
      queue,
      waiting: queue === undefined ? (waiting.get(name) ?? null) : queue.waiting,
      consumers: queue?.consumers ?? (areQueuesKnown ? own.length : null),
      workers: own,
      ...slotsOf(situation, queue, own, running),
      pace: activity == null ? null : paceOf(activity, name, now),
      runSeconds: activity == null ? null : runSecondsOf(activity, { name, workers: own }, now),
    };
  }

  const crews = new Map<string, Crew>();
  return {
    worker: (hostname: string) => byName.get(hostname),
    /** What runs on a worker; `null`: unknown. */
    running,
    crewOf(name: string): Crew {
      const crew = crews.get(name) ?? makeCrew(name);
      crews.set(name, crew);
      return crew;
    },
  };
}

/** If workers take only what they run, what was taken while others wait fills all slots. */
function slotsOf(
  { activity }: WaitingSituation,
  queue: JudgedQueue | undefined,
  own: readonly JudgedWorker[],
  running: (worker: JudgedWorker) => Running | null,
): Pick<Crew, 'slots' | 'running'> {
  if (activity?.workersPull) {
    const reserved = queue?.reserved ?? null;
    const isFull = reserved !== 0 && queue?.waiting !== 0;
    return { slots: isFull ? reserved : null, running: reserved };
  }
  if (own.length === 0) return { slots: null, running: null };
  return {
    slots: sumOf(own.map(({ concurrency }) => concurrency)),
    running: sumOf(own.map((worker) => running(worker)?.count ?? null)),
  };
}

function sumOf(counts: readonly (number | null)[]): number | null {
  return counts.includes(null) ? null : counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
}

const MINUTE_MS = 60_000;
/** Minutes over which the pace is measured. */
const PACE_MS = 4 * MINUTE_MS;
/** Fewer tasks say nothing about a pace. */
const LEAST_TAKEN = 3;

function paceOf({ recent, since, blind }: Activity, queue: string, now: number): number | null {
  if (recent === undefined || blind !== null) return null;
  const minutes = recent(queue).filter(({ at }) => at > now - PACE_MS);
  const [first, last] = [minutes[0], minutes.at(-1)];
  if (first === undefined || last === undefined) return null;
  const taken = sumOf(minutes.map((minute) => minute.taken));
  const seconds = (Math.min(now, last.at + MINUTE_MS) - Math.max(first.at, since)) / 1_000;
  return taken === null || taken < LEAST_TAKEN || seconds < 1 ? null : taken / seconds;
}

const HOUR_MS = 60 * MINUTE_MS;

/** Of the name that has occupied one of its slots for longest. */
function runSecondsOf(
  { open, counts }: Activity,
  crew: Pick<Crew, 'name' | 'workers'>,
  now: number,
): number | null {
  const own = new Set<string | null>(crew.workers.map(({ hostname }) => hostname));
  const { name = null } = open.running.find((one) => one.queue === crew.name || own.has(one.worker)) ?? {};
  const ms = name === null ? null : counts.quantile('run', name, now - HOUR_MS, now + MINUTE_MS, 0.5);
  return ms === null ? null : ms / 1_000;
}
