/** Takes the entries of streams as the steps of their jobs, for what counts them. */
import { type Steps, scheduler } from '../../../scheduler.ts';
import { type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import {
  createOpenJobs,
  type JobRuns,
  type JobStep,
  type OpenJobs,
  type QueueEntry,
  readRuns,
} from './job-machine.ts';
import { markBehind, markBehindTime, type ReadMark, readLost, type StreamEntry } from './stream-entry.ts';
import type { StreamConsumer, StreamNews } from './stream-follower.ts';

/** What counts the steps of the jobs of queues. `Own` is what it keeps of each queue. */
export interface StepCounter<Own> {
  /** The name of its work, for the scheduler. */
  readonly work: string;
  /** Streams are read from this time on, in milliseconds since 1970. */
  readonly from: number;
  /** Begins with a queue. */
  begin(queue: QueueRef): Own;
  /** Whether an entry's job is to be read. @param isNamed whether entries have told its name */
  needsRuns(entry: StreamEntry, isNamed: boolean, own: Own | undefined): boolean;
  /** Entries before the next one were removed before they were read. @param next `undefined`: there is none */
  gap(own: Own, next: StreamEntry | undefined): void;
  count(own: Own, entry: StreamEntry, step: JobStep | null, runs: JobRuns | undefined): void;
  /** Everything that its stream has was counted. */
  reachEnd(own: Own): void;
}

/** A queue whose steps are counted. */
interface SteppedQueue<Own> {
  readonly own: Own;
  readonly jobs: OpenJobs;
  mark: ReadMark;
}

/** The queues that are counted. */
export interface StepConsumer<Own> extends Pick<StreamConsumer, 'marksOf' | 'take'> {
  /** `null`: its stream has not been read. */
  get(queue: string): Own | null;
  clear(): void;
}

/** Jobs that are remembered, of all queues together, and of each in any case. */
const MOST_JOBS = 50_000;
const LEAST_JOBS = 500;
/** Entries that are taken in one step. */
const STEP = 50;

export function countSteps<Own>(counter: StepCounter<Own>): StepConsumer<Own> {
  const queues = new Map<string, SteppedQueue<Own>>();
  const start = markBehindTime(counter.from);

  function* countAll(
    news: readonly StreamNews[],
    runs: ReadonlyMap<string, JobRuns>,
    lost: ReadonlyMap<QueueRef, number>,
  ): Steps<void> {
    let counted = 0;
    for (const { queue, entries, hasGap } of news) {
      const { own, jobs, mark } = steppedOf(queue);
      if (mark === start ? isLost(lost.get(queue)) : hasGap) {
        // Missing entries would lead to wrong times.
        jobs.clear();
        counter.gap(own, entries[0]);
      }
      for (const entry of entries) {
        const read = entry.jobId === null ? undefined : runs.get(taskIdOf(queue.name, entry.jobId));
        counter.count(own, entry, jobs.step(entry, read), read);
        if (++counted % STEP === 0) yield;
      }
    }
  }

  const isLost = (until: number | undefined): boolean => until !== undefined && until > counter.from;

  function steppedOf(queue: QueueRef): SteppedQueue<Own> {
    const stepped = queues.get(queue.name) ?? {
      own: counter.begin(queue),
      jobs: createOpenJobs(),
      mark: start,
    };
    queues.set(queue.name, stepped);
    return stepped;
  }

  return {
    get: (queue) => queues.get(queue)?.own ?? null,
    clear: () => queues.clear(),
    marksOf: (all) => new Map(all.map(({ name }) => [name, queues.get(name)?.mark ?? start])),
    async take(news, all, access) {
      const names = new Set(all.map(({ name }) => name));
      for (const name of queues.keys()) if (!names.has(name)) queues.delete(name);
      const found = new Map(news.map((one) => [one.queue, one]));
      const isFirst = ({ name }: QueueRef): boolean => (queues.get(name)?.mark ?? start) === start;
      const [runs, lost] = await Promise.all([
        readRuns(access, entriesToRead(counter, queues, news)),
        readLost(
          access,
          all.filter((queue) => (found.has(queue) ? isFirst(queue) : !queues.has(queue.name))),
        ),
      ]);
      if (access.options.signal.aborted) return;
      await scheduler.run(counter.work, countAll(news, runs, lost));
      for (const queue of all) {
        const stepped = steppedOf(queue);
        const own = found.get(queue);
        if (own !== undefined) stepped.mark = markBehind(own.entries);
        else if (isLost(lost.get(queue))) counter.gap(stepped.own, undefined);
        if (own?.hasMore !== true) counter.reachEnd(stepped.own);
        stepped.jobs.trim(Math.max(LEAST_JOBS, Math.floor(MOST_JOBS / all.length)));
      }
    },
  };
}

/** The entries whose jobs are to be read. */
function entriesToRead<Own>(
  counter: StepCounter<Own>,
  queues: ReadonlyMap<string, SteppedQueue<Own>>,
  news: readonly StreamNews[],
): readonly QueueEntry[] {
  return news.flatMap(({ queue, entries }) => {
    const known = queues.get(queue.name);
    const named = new Set(entries.filter(({ fields }) => fields.has('name')).map(({ jobId }) => jobId ?? ''));
    const isNamed = (jobId: string): boolean => named.has(jobId) || known?.jobs.get(jobId)?.name != null;
    return entries
      .filter((entry) => entry.jobId !== null && counter.needsRuns(entry, isNamed(entry.jobId), known?.own))
      .map((entry) => ({ queue, entry }));
  });
}
