/** The answers about the queues of a source, and what is remembered for them. */

import { rounded } from '../findings/finding.ts';
import { createLruCache } from '../lru-cache.ts';
import type { Steps } from '../scheduler.ts';
import type { Activity } from '../source.ts';
import type { DrainBody } from '../wire.ts';
import { type Crew, crewsOf, type WaitingSituation } from './crews.ts';
import { blockedBy, type Wait } from './queue-causes.ts';

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
      const at = queue.as_of === null ? now : Math.min(Date.parse(queue.as_of), now);
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

const MINUTE_MS = 60_000;

/** Of the minutes that have ended. */
function recordedDepths(activity: Activity | null | undefined, queue: string, now: number) {
  const minutes = activity?.recent?.(queue) ?? [];
  return minutes.flatMap(({ at, waiting }) =>
    waiting === null || at + MINUTE_MS > now ? [] : { at: at + MINUTE_MS - 1, waiting },
  );
}

/** The number of waiting tasks at one time. */
interface Depth {
  readonly at: number;
  readonly waiting: number;
}

/**
 * What is remembered of one queue, to say when it will be empty: how its depth changed in the last minutes, and for the
 * band what became of earlier forecasts. Times are milliseconds since 1970.
 */
interface DrainTrack {
  /** Oldest first. */
  readonly depths: Depth[];
  /** Forecasts of which it is not known yet whether they came true. */
  readonly open: { readonly at: number; readonly seconds: number }[];
  /** Of the latest forecasts: the real time as a multiple of the forecast. */
  readonly ratios: number[];
}

/** Until forecasts have been tested, they may be wrong by a factor of three. */
const PRIOR = Array.from({ length: 16 }, (_, index) => 3 ** ((index * 2) / 15 - 1));
const MOST_RATIOS = 128;
const MOST_OPEN = 64;
const MOST_DEPTHS = 60;
/** Depths are remembered at this distance, in milliseconds. */
const APART_MS = 4_000;
/** After a longer time without a reading, observation begins anew. */
const GAP_MS = 10 * 60_000;
/** The time over which the change is measured, if it has enough readings. */
const WINDOW_MS = 120_000;
const LEAST_DEPTHS = 5;
const LEAST_MS = 20_000;
/** Share of earlier forecasts below and above the band. */
const TAIL = 0.05;
/** A forecast that takes this many times as long was wrong. */
const MOST_RATIO = 4;
/** Shorter forecasts are not tested. */
const LEAST_TESTED = 10;
const TARGET_SECONDS = 600;

/** @param earlier recorded depths, oldest first */
export function createDrainTrack(earlier: readonly Depth[] = []): DrainTrack {
  return { depths: earlier.slice(-LEAST_DEPTHS), open: [], ratios: [...PRIOR] };
}

/** Takes a reading, and tests the earlier forecasts. */
export function observeDepth(track: DrainTrack, { at, waiting }: Depth): void {
  const { depths, open } = track;
  const last = depths.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  if (at <= last) return;
  if (at - last > GAP_MS) {
    depths.length = 0;
    open.length = 0;
  }
  const isTested = (forecast: DrainTrack['open'][number]): boolean => {
    const ratio = (at - forecast.at) / 1_000 / forecast.seconds;
    return waiting === 0 || ratio > MOST_RATIO;
  };
  for (const { at: since, seconds } of open.filter(isTested)) {
    track.ratios.push((at - since) / 1_000 / seconds);
  }
  open.splice(0, open.length, ...open.filter((forecast) => !isTested(forecast)));
  track.ratios.splice(0, Math.max(0, track.ratios.length - MOST_RATIOS));
  if (at - last < APART_MS && waiting > 0) return;
  depths.push({ at, waiting });
  if (depths.length > MOST_DEPTHS) depths.shift();
}

/** A forecast after the last reading; `null`: nothing waits. */
export function drainOf(
  track: DrainTrack,
  crew: Pick<Crew, 'pace' | 'slots' | 'runSeconds'>,
): DrainBody | null {
  const last = track.depths.at(-1);
  if (last === undefined || last.waiting === 0) return null;
  const depths = steadyPart(track.depths);
  const ms = last.at - (depths[0] as Depth).at;
  const unknown = { seconds: null, low: null, high: null, based_on_seconds: Math.round(ms / 1_000) };
  if (ms < LEAST_MS) {
    const reason = `Its depth has been observed for ${Math.round(ms / 1_000)} s; it needs ${LEAST_MS / 1_000} s.`;
    return { ...unknown, slots_needed: null, per_minute: null, reason };
  }
  const rate = slopeOf(depths);
  const known = { slots_needed: slotsNeeded(crew, last.waiting, rate), per_minute: rounded(rate * 60) };
  // The number of arrivals and starts varies by its root.
  const noise = Math.sqrt(Math.max(4, 2 * (crew.pace ?? Math.abs(rate)) * (ms / 1_000)));
  if (Math.abs(rate) * (ms / 1_000) < noise) {
    return { ...unknown, ...known, reason: 'It neither grows nor shrinks measurably.' };
  }
  const seconds = last.waiting / -rate;
  if (rate >= 0) return { ...unknown, ...known, reason: 'grows' };
  remember(track, last.at, seconds);
  const ratios = track.ratios.toSorted((a, b) => a - b);
  const at = (share: number): number => seconds * (ratios[Math.round(share * (ratios.length - 1))] as number);
  // That it is empty is seen at a reading.
  const apart = (last.at - (depths.at(-2) as Depth).at) / 1_000;
  return {
    ...known,
    seconds: rounded(seconds),
    low: rounded(Math.max(0, Math.min(seconds, at(TAIL)) - apart)),
    high: rounded(Math.max(seconds, at(1 - TAIL)) + apart),
    based_on_seconds: unknown.based_on_seconds,
    reason: null,
  };
}

/** The depths from which the change follows: of the last minutes, since many tasks were last added at once. */
function steadyPart(depths: readonly Depth[]): readonly Depth[] {
  const last = depths.at(-1) as Depth;
  const from = depths.findIndex(({ at }) => at >= last.at - WINDOW_MS);
  const part = depths.slice(Math.max(0, Math.min(from, depths.length - LEAST_DEPTHS)));
  const steps = part.slice(1).map(({ waiting }, index) => waiting - (part[index] as Depth).waiting);
  const usual = steps.map(Math.abs).toSorted((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  const jump = steps.findLastIndex((step) => step > Math.max(10, 6 * usual, last.waiting / 4));
  return part.slice(jump + 1);
}

/** Least squares, in tasks per second. */
function slopeOf(depths: readonly Depth[]): number {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, one) => sum + one, 0) / values.length;
  const [at, waiting] = [mean(depths.map((one) => one.at)), mean(depths.map((one) => one.waiting))];
  let [above, below] = [0, 0];
  for (const depth of depths) {
    above += (depth.at - at) * (depth.waiting - waiting);
    below += (depth.at - at) ** 2;
  }
  return below === 0 ? 0 : (above / below) * 1_000;
}

/** Full slots: what one of them takes is a share of the pace. */
function slotsNeeded(
  { pace, slots, runSeconds }: Pick<Crew, 'pace' | 'slots' | 'runSeconds'>,
  waiting: number,
  rate: number,
): number | null {
  if (slots === null || slots === 0) return null;
  const taken = pace ?? (runSeconds ? slots / runSeconds : null);
  if (taken === null) return null;
  const entering = Math.max(0, taken + rate);
  const wanted = ((entering + waiting / TARGET_SECONDS) / taken) * slots;
  return Math.max(0, Math.ceil(wanted - slots));
}

/** Forecasts that readings cannot test are left out, and every second one if there are too many. */
function remember({ open }: DrainTrack, at: number, seconds: number): void {
  const last = open.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  if (seconds < LEAST_TESTED || at - last < Math.max(APART_MS, seconds * 20)) return;
  open.push({ at, seconds });
  if (open.length > MOST_OPEN) open.splice(0, open.length, ...open.filter((_, index) => index % 2 === 0));
}
