/** Puts stored results that were read into the history. */
import type { CollectedHistory } from '../../../../history/history.ts';
import type { Lineage } from '../../lineage/lineage.ts';
import type { StoredResult } from '../../protocol/messages.ts';
import { parseMoment } from '../../protocol/moments.ts';
import { decodeResult } from '../../protocol/results.ts';
import type { Dating } from './dating.ts';
import { createSlices } from './pauses.ts';
import type { ResultKeys } from './result-keys.ts';
import type { LongValue, ValueStore } from './value-store.ts';

/** A task and the value stored for it; `null` where there is none. */
export type ReadResult = readonly [id: string, value: string | LongValue | null];

/** What became of results that were read. */
export interface Taken {
  /** Tasks of which the history was told. */
  readonly kept: number;
  /** Values of another serializer, or broken ones. */
  readonly unreadable: number;
}

/** Takes in what was read. */
export interface ResultTaker {
  /**
   * Tells the history of what it would keep.
   *
   * @param asked when these tasks are asked for by somebody: is told of those that the history would not keep
   */
  take(
    results: readonly ReadResult[],
    signal: AbortSignal,
    asked?: (result: StoredResult) => void,
  ): Promise<Taken>;
}

/** Results taken in without giving way: a few milliseconds at most, for most values. */
const AT_ONCE = 50;
/** Of so many dated results, the first few have their keys asked for their remaining life, too. */
const SAMPLES = 3;

/** What a taker needs. */
export interface ResultTakerOptions {
  readonly history: CollectedHistory;
  readonly lineage: Lineage;
  readonly store: ValueStore;
  readonly keys: ResultKeys;
  readonly dating: Dating;
  /** Longest text to make of one value, in characters. */
  readonly valueLength: number;
}

export function createResultTaker(options: ResultTakerOptions): ResultTaker {
  const { history, lineage, store, keys, dating, valueLength } = options;

  /** Known tasks are told more of; others are worth telling when they would stay. */
  const isWanted = (id: string, time: number): boolean =>
    history.index.stateOf(id) !== null || history.index.wouldKeep(time);

  return {
    async take(results, signal, asked) {
      const slices = createSlices();
      const undated: StoredResult[] = [];
      const samples: StoredResult[] = [];
      let kept = 0;
      let unreadable = 0;

      function tell(result: StoredResult, heardAt: number | null, wanted: boolean): void {
        const told = { ...result, change: { ...result.change, stored: true, heardAt } };
        if (wanted) {
          history.writer.recordTask(told.change);
          lineage.stored(told);
          kept += 1;
        } else asked?.(told);
      }

      function decode(id: string, value: string | LongValue): StoredResult | null {
        if (typeof value !== 'string') return decodeHead(value.head, id);
        const time = asked === undefined ? dateIn(value) : null;
        if (time !== null && !isWanted(id, time)) return null;
        const result = decodeResult(value, id, valueLength);
        if (result === null) unreadable += 1;
        return result;
      }

      function takeSome(some: readonly ReadResult[]): void {
        const decoded = some.flatMap(([id, value]) => (value === null ? [] : (decode(id, value) ?? [])));
        const dated = decoded.filter(({ change }) => change.time !== null);
        // All are asked for before one is told: to answer, the history brings its indexes up to date.
        const wanted = dated.map(({ change }) => isWanted(change.id, change.time ?? 0));
        for (const [at, result] of dated.entries()) tell(result, null, wanted[at] === true);
        for (const result of decoded) if (result.change.time === null) undated.push(result);
        if (dating.needsSamples()) samples.push(...dated.slice(0, SAMPLES));
      }

      for (let at = 0; at < results.length; at += AT_ONCE) {
        await slices();
        takeSome(results.slice(at, at + AT_ONCE));
      }
      if (undated.length === 0) return { kept, unreadable };
      const names = [...samples, ...undated].map(({ change }) => keys.task(change.id));
      const ttls = await store.ttls(names, signal);
      const now = Date.now();
      for (const [at, { change }] of samples.entries()) {
        dating.sample(change.time ?? now, ttls[at] ?? -1, now);
      }
      for (const [at, result] of undated.entries()) {
        await slices();
        const heardAt = dating.writtenAt(ttls[samples.length + at] ?? -1, now);
        tell(result, heardAt, isWanted(result.change.id, heardAt ?? now));
      }
      return { kept, unreadable };
    },
  };
}

const DATE = '"date_done": ';

/** The date in a result, without decoding it; `null` when that cannot be told so easily. */
function dateIn(text: string): number | null {
  const at = text.indexOf(DATE);
  // Within a string its quotes would be escaped, but a value of the user's may have a member of that name.
  if (at < 0 || text.includes(DATE, at + 1)) return null;
  const start = at + DATE.length;
  if (text[start] !== '"') return null;
  return parseMoment(text.slice(start + 1, text.indexOf('"', start + 1))) ?? null;
}

/** Of a value that is too long to be read: the state, which Celery writes first. */
function decodeHead(head: string, id: string): StoredResult | null {
  const status = /^\{"status": "[^"\\]{1,128}"/.exec(head);
  const result = status === null ? null : decodeResult(`${status[0]}}`, id, 0);
  if (result === null || result.change.type !== 'succeeded') return result;
  return { ...result, change: { ...result.change, truncated: ['result'] } };
}
