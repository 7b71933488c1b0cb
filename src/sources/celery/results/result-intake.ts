/** Records results that were read from a backend in the history. */
import type { CollectedHistory } from '../../../history/history.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type { Lineage } from '../lineage/lineage.ts';
import type { StoredResult } from '../protocol/messages.ts';
import { decodeResult, decodeResultHead, endedAt } from '../protocol/results.ts';
import type { StoredResults, StoredValue } from '../result-backend.ts';

/** Parameters of the intake of results. */
export interface ResultIntake {
  readonly history: CollectedHistory;
  readonly lineage: Lineage;
  readonly stored: StoredResults;
  /** Longest text to make of one value, in characters. */
  readonly valueLength: number;
}

/** Receives results that were looked up and that the history would not keep. */
export type Aside = (result: StoredResult) => void;

/** Counts of results that were read. */
interface IntakeCounts {
  /** Results that the history was given. */
  kept: number;
  /** Values of another serializer, or broken ones. */
  unreadable: number;
}

/** Results about which the history is asked at once: to answer, it brings its indexes up to date. */
const AT_ONCE = 50;
/** Results to record without yielding: for most values, a few milliseconds at most. */
const TAKEN_AT_ONCE = 5;

/**
 * Records the results that the history would keep. Yields to the event loop in between.
 *
 * @param aside given for a look-up
 */
export async function takeResults(
  intake: ResultIntake,
  values: readonly StoredValue[],
  aside: Aside | null = null,
): Promise<IntakeCounts> {
  return await scheduler.run('results', takeAll(intake, values, aside));
}

function* takeAll(
  intake: ResultIntake,
  values: readonly StoredValue[],
  aside: Aside | null,
): Steps<IntakeCounts> {
  const { history, lineage } = intake;
  const counts: IntakeCounts = { kept: 0, unreadable: 0 };
  for (let at = 0; at < values.length; at += AT_ONCE) {
    const results: StoredResult[] = [];
    for (const value of values.slice(at, at + AT_ONCE)) {
      if (aside !== null || isPerhapsWanted(intake, value)) {
        const result = decode(intake, value);
        if (result === null) counts.unreadable += 1;
        else results.push(result);
      }
      yield;
    }
    const wanted = results.map(({ change: { id, time, heardAt } }) =>
      isWanted(intake, id, time ?? heardAt ?? Date.now()),
    );
    for (const [index, result] of results.entries()) {
      if (wanted[index] === true) {
        history.writer.recordTask(result.change);
        lineage.stored(result);
        counts.kept += 1;
      } else aside?.(result);
      if (index % TAKEN_AT_ONCE === TAKEN_AT_ONCE - 1) yield;
    }
  }
  return counts;
}

/** Whether the history may want a result, as far as that is known before it is decoded. */
function isPerhapsWanted(intake: ResultIntake, { id, text, isCut }: StoredValue): boolean {
  const time = isCut ? null : endedAt(text);
  return time === null || isWanted(intake, id, time);
}

/** Results of known tasks are always wanted; others when the history would keep the task. */
function isWanted({ history }: ResultIntake, id: string, time: number): boolean {
  return history.index.stateOf(id) !== null || history.index.wouldKeep(time);
}

/** @returns `null` when it is unreadable */
function decode(
  { valueLength }: ResultIntake,
  { id, text, isCut, writtenAt = null }: StoredValue,
): StoredResult | null {
  const result = isCut ? decodeResultHead(text, id) : decodeResult(text, id, valueLength);
  if (result === null) return null;
  const { children, change } = result;
  return { children, change: { ...change, stored: true, heardAt: change.time === null ? writtenAt : null } };
}
