/** The answers about the queues of a source, and what is remembered for them. */
import type { JudgedQueue } from '../findings/finding.ts';
import { createLruCache } from '../lru-cache.ts';
import type { Steps } from '../scheduler.ts';
import type { Activity } from '../source.ts';
import type { DrainBody } from '../wire.ts';
import { crewsOf, type WaitingSituation } from './crews.ts';
import { createDrainTrack, type DrainTrack, drainOf, observeDepth } from './drain.ts';
import { blockedBy } from './queue-causes.ts';
import type { Wait } from './wait.ts';

/** The answers about one queue. */
export interface QueueAnswer {
  /** Number of waiting tasks; `null`: unknown. */
  readonly waiting: number | null;
  /** `null`: no task waits. */
  readonly blockedBy: Wait | null;
  /** `null`: no task waits. */
  readonly drain: DrainBody | null;
  /** How many tasks can run at a time; `null`: unknown. */
  readonly slots: number | null;
}

/** Answers for one source. */
export type AnswerQueues = (
  source: string,
  situation: WaitingSituation,
  now: number,
) => Steps<ReadonlyMap<string, QueueAnswer>>;

/** Most queues whose forecasts are remembered: about 4 MB. */
const MOST_TRACKS = 1_000;

/**
 * Remembers depths and forecasts from call to call.
 *
 * @param onError called with the error of an activity that throws; what runs is then unknown
 */
export function createQueueAnswers(onError: (error: unknown, source: string) => void): AnswerQueues {
  const tracks = createLruCache<DrainTrack>({ entries: MOST_TRACKS });
  return function* answerOrReport(source, situation, now) {
    try {
      return yield* answer(source, situation, now);
    } catch (error) {
      onError(error, source);
      return yield* answer(source, { ...situation, activity: undefined }, now);
    }
  };

  function* answer(source: string, situation: WaitingSituation, now: number): ReturnType<AnswerQueues> {
    const crews = crewsOf(situation, now);
    const answers = new Map<string, QueueAnswer>();
    for (const queue of situation.queues ?? []) {
      const key = JSON.stringify([source, queue.name]);
      const at = timeOf(queue, now);
      const crew = crews.crewOf(queue.name);
      const { waiting, slots } = crew;
      const known = tracks.get(key);
      const track = known ?? createDrainTrack(recordedDepths(situation.activity, queue.name, now));
      // A queue in which nothing has waited yet needs no memory.
      if (known === undefined && waiting !== null && waiting > 0) tracks.set(key, track);
      if (waiting !== null) observeDepth(track, { at, waiting });
      answers.set(queue.name, {
        waiting,
        blockedBy: blockedBy(crew, situation, now),
        drain: waiting === null ? UNKNOWN : waiting === 0 ? null : drainOf(track, crew),
        slots,
      });
      yield;
    }
    return answers;
  }
}

const UNKNOWN: DrainBody = {
  seconds: null,
  low: null,
  high: null,
  slots_needed: null,
  per_minute: null,
  based_on_seconds: 0,
  reason: 'The number of waiting tasks is unknown.',
};

function timeOf({ as_of }: JudgedQueue, now: number): number {
  return as_of === null ? now : Math.min(Date.parse(as_of), now);
}

const MINUTE_MS = 60_000;

/** Of the minutes that have ended. */
function recordedDepths(activity: Activity | null | undefined, queue: string, now: number) {
  const minutes = activity?.recent?.(queue) ?? [];
  return minutes.flatMap(({ at, waiting }) =>
    waiting === null || at + MINUTE_MS > now ? [] : { at: at + MINUTE_MS - 1, waiting },
  );
}
