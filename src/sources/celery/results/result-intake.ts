/** Records results that were read from a backend in the history. */
import type { CollectedHistory } from '../../../history/history.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type { Lineage } from '../lineage/lineage.ts';
import type { StoredResult } from '../protocol/messages.ts';
import { decodeResult, decodeResultHead, endedAt } from '../protocol/results.ts';
import type { StoredResults, StoredValue } from '../result-backend.ts';
import type { Dating } from './dating.ts';

/** Parameters of the intake of results. */
export interface ResultIntake {
  readonly history: CollectedHistory;
  readonly lineage: Lineage;
  readonly stored: StoredResults;
  readonly dating: Dating;
  /** Longest text to make of one value, in characters. */
  readonly valueLength: number;
}

/** Receives results that were looked up and that the history would not keep. */
export type Aside = (result: StoredResult) => void;

/** Counts of results that were read. */
export interface IntakeCounts {
  /** Results that the history was given. */
  kept: number;
  /** Values of another serializer, or broken ones. */
  unreadable: number;
}

/** Results to record without yielding: for most values, a few milliseconds at most. */
const AT_ONCE = 50;
const TAKEN_AT_ONCE = 5;
/** Number of dated results of each slice that show how long the backend keeps results. */
const SAMPLES = 3;

/** A result without a time, and when it was written if the backend reports that. */
interface UndatedResult extends StoredResult {
  readonly writtenAt: number | null | undefined;
}

/** One call of {@link takeResults}. */
interface Batch {
  readonly intake: ResultIntake;
  readonly aside: Aside | null;
  readonly counts: IntakeCounts;
}

/**
 * Records the results that the history would keep. Yields to the event loop in between.
 *
 * @param aside given for a look-up
 */
export async function takeResults(
  intake: ResultIntake,
  values: readonly StoredValue[],
  signal: AbortSignal,
  aside: Aside | null = null,
): Promise<IntakeCounts> {
  const batch: Batch = { intake, aside, counts: { kept: 0, unreadable: 0 } };
  const { undated, samples } = await scheduler.run('results', takeAllDated(batch, values));
  if (undated.length === 0) return batch.counts;
  const isKnown = undated.every(({ writtenAt }) => writtenAt !== undefined);
  const times = isKnown
    ? undated.map(({ writtenAt = null }) => writtenAt)
    : await datesOf(intake, undated, samples, signal);
  await scheduler.run('results', takeUndated(batch, undated, times));
  return batch.counts;
}

/** Records results with a time. @returns the others, and some results that show how long the backend keeps them */
function* takeAllDated(
  batch: Batch,
  values: readonly StoredValue[],
): Steps<{ undated: UndatedResult[]; samples: StoredResult[] }> {
  const undated: UndatedResult[] = [];
  const samples: StoredResult[] = [];
  for (let at = 0; at < values.length; at += AT_ONCE) {
    const dated: StoredResult[] = [];
    for (const value of values.slice(at, at + AT_ONCE)) {
      const result = decode(batch, value);
      if (result?.change.time === null) undated.push({ ...result, writtenAt: value.writtenAt });
      else if (result !== null) dated.push(result);
      yield;
    }
    yield* takeDated(batch, dated);
    if (batch.intake.dating.needsSamples()) samples.push(...dated.slice(0, SAMPLES));
  }
  return { undated, samples };
}

function* takeUndated(
  batch: Batch,
  undated: readonly StoredResult[],
  times: readonly (number | null)[],
): Steps<void> {
  for (const [index, result] of undated.entries()) {
    const time = times[index] ?? null;
    take(batch, result, time, isWanted(batch.intake, result.change.id, time ?? Date.now()));
    if (index % TAKEN_AT_ONCE === TAKEN_AT_ONCE - 1) yield;
  }
}

/** Results of known tasks are always wanted; others when the history would keep the task. */
function isWanted({ history }: ResultIntake, id: string, time: number): boolean {
  return history.index.stateOf(id) !== null || history.index.wouldKeep(time);
}

function decode({ intake, aside, counts }: Batch, { id, text, isCut }: StoredValue): StoredResult | null {
  if (isCut) return decodeResultHead(text, id);
  const time = aside === null ? endedAt(text) : null;
  if (time !== null && !isWanted(intake, id, time)) return null;
  const result = decodeResult(text, id, intake.valueLength);
  if (result === null) counts.unreadable += 1;
  return result;
}

function* takeDated(batch: Batch, results: readonly StoredResult[]): Steps<void> {
  // The history is asked about all before it is given the first: to answer, it brings its indexes up to date.
  const wanted = results.map(({ change }) => isWanted(batch.intake, change.id, change.time ?? 0));
  for (const [index, result] of results.entries()) {
    take(batch, result, null, wanted[index] === true);
    if (index % TAKEN_AT_ONCE === TAKEN_AT_ONCE - 1) yield;
  }
}

/** @param heardAt when an undated result was written, if known */
function take(
  batch: Batch,
  { change, children }: StoredResult,
  heardAt: number | null,
  wanted: boolean,
): void {
  const read = { children, change: { ...change, stored: true, heardAt } };
  if (!wanted) {
    batch.aside?.(read);
    return;
  }
  batch.intake.history.writer.recordTask(read.change);
  batch.intake.lineage.stored(read);
  batch.counts.kept += 1;
}

/** When undated results were written, as far as their remaining lives show. */
async function datesOf(
  { stored, dating }: ResultIntake,
  undated: readonly StoredResult[],
  samples: readonly StoredResult[],
  signal: AbortSignal,
): Promise<(number | null)[]> {
  const ids = [...samples, ...undated].map(({ change }) => change.id);
  const lives = await stored.remainingLives(ids, signal);
  const now = Date.now();
  for (const [index, { change }] of samples.entries()) {
    dating.sample(change.time ?? now, lives[index] ?? -1, now);
  }
  return undated.map((_, index) => dating.writtenAt(lives[samples.length + index] ?? -1, now));
}
