/** Puts a message into the timeline of its task, once, however often and in whatever order it comes. */

import type { TaskChange } from '../history.ts';
import { isName } from '../names.ts';
import type { Records } from '../table/records.ts';
import { KIND, kindOf, STATE_OF } from '../table/timeline.ts';
import { MAX_ENTRIES } from './folded.ts';

/** Where a message stands among the others of its task. One object, used again for each message. */
export interface Placed {
  kind: number;
  /** False when the same was told before. */
  isNew: boolean;
  /** True when it was not heard: neither by this message's sender nor, of the same change, by the other one. */
  isNews: boolean;
  /** The same was told before, yet less of it. */
  isMore: boolean;
  /** Label of the state, for custom ones. */
  state: number;
  /** Label of the worker. */
  worker: number;
  /** No message of its kind from its origin has a later time. */
  isLatestOfKind: boolean;
  /** Likewise of `sent` and `received` together. */
  isLatestOpening: boolean;
  isEarliestOpening: boolean;
  /** By the sender's clock if it told a time, else the time of arrival. */
  time: number;
}

/** @returns a function that places a message; `arrivedAt`, milliseconds, dates those without a time */
export function createIntake(
  records: Records,
): (slot: number, change: TaskChange, arrivedAt: number) => Placed {
  const { pool } = records;
  const placed: Placed = {
    kind: 0,
    isNew: false,
    isNews: false,
    isMore: false,
    state: 0,
    worker: 0,
    isLatestOfKind: true,
    isLatestOpening: true,
    isEarliestOpening: true,
    time: 0,
  };
  const fields = {
    time: 0,
    kind: 0,
    isResult: false,
    isDated: false,
    isStored: false,
    isVague: false,
    retries: -1,
    worker: 0,
    state: 0,
  };

  return function place(slot, change, arrivedAt) {
    const kind = kindOf(change);
    const isResult = change.origin === 'result';
    const isDated = typeof change.time === 'number' && Number.isFinite(change.time);
    fields.kind = kind;
    fields.isResult = isResult;
    fields.isDated = isDated;
    fields.isStored = change.stored === true;
    fields.isVague = false;
    fields.time = isDated ? (change.time as number) : arrivedAt;
    if (!isDated) dateOtherwise(change, arrivedAt);
    fields.retries =
      typeof change.retries === 'number' && change.retries >= 0 ? Math.trunc(change.retries) : -1;
    fields.state = kind === KIND.CUSTOM ? records.states.intern(change.state ?? 'UNKNOWN') : 0;
    fields.worker = isName(change.worker) ? records.workers.intern(change.worker) : 0;
    placed.kind = kind;
    placed.state = fields.state;
    placed.worker = fields.worker;
    placed.time = fields.time;
    placed.isMore = false;
    placed.isLatestOfKind = true;
    placed.isLatestOpening = true;
    placed.isEarliestOpening = true;

    const head = records.heads[slot] as number;
    const tail = compare(head, kind, isResult, isDated, change);
    placed.isNew = tail >= 0;
    if (tail >= 0) {
      records.workers.retain(fields.worker);
      records.states.retain(fields.state);
      const entry = pool.add(tail, fields);
      if (tail === 0) records.heads[slot] = entry;
      const detail = change.detail ?? change.exception;
      if (typeof detail === 'string' && detail !== '') pool.setDetail(entry, detail);
    } else forget();
    return placed;
  };

  /** A message without a time. That a task is in its queue does not tell when it was sent. */
  function dateOtherwise(change: TaskChange, arrivedAt: number): void {
    const { heardAt } = change;
    const isTold = typeof heardAt === 'number' && Number.isFinite(heardAt);
    if (isTold) fields.time = Math.min(heardAt, arrivedAt);
    fields.isVague = fields.isStored && (!isTold || fields.kind === KIND.SENT);
  }

  /** A message that was not kept must not leave its labels behind. */
  function forget(): void {
    records.workers.retain(fields.worker);
    records.workers.release(fields.worker);
    records.states.retain(fields.state);
    records.states.release(fields.state);
  }

  /** @returns the last entry of the chain, or −1 when the message tells nothing new */
  function compare(
    head: number,
    kind: number,
    isResult: boolean,
    isDated: boolean,
    change: TaskChange,
  ): number {
    const { time } = fields;
    const stateText = STATE_OF[kind] as string;
    let tail = 0;
    let count = 0;
    let sameByUs = 0;
    let sameByOther = 0;
    let backendRetries = 0;
    let backendEnd = Number.NEGATIVE_INFINITY;
    let lastReceived = Number.NEGATIVE_INFINITY;
    let same = 0;
    let repeated = 0;
    let lastOfBackend = -1;
    placed.isNews = false;
    for (let entry = head; entry !== 0; entry = pool.next(entry)) {
      tail = entry;
      count++;
      const other = pool.kind(entry);
      const byResult = pool.isResult(entry);
      const at = pool.time(entry);
      if (other === KIND.RECEIVED) {
        if (at > lastReceived) lastReceived = at;
        const isOther = fields.retries >= 0 && pool.retries(entry) !== fields.retries;
        if (!isOther && kind !== KIND.SENT) same = 0;
      } else if (byResult && pool.isDated(entry)) backendEnd = Math.max(backendEnd, at);
      else if (byResult && other === KIND.RETRIED) backendRetries++;
      if (!byResult && other <= KIND.RECEIVED && !pool.isStored(entry)) {
        if (at > time) placed.isLatestOpening = false;
        if (at < time) placed.isEarliestOpening = false;
      }
      if (byResult) lastOfBackend = other;
      const sameState = other === kind ? pool.state(entry) === fields.state : STATE_OF[other] === stateText;
      if (!sameState) continue;
      const isHeard = !pool.isStored(entry);
      if (byResult !== isResult) {
        if (isHeard) sameByOther++;
        continue;
      }
      if (isHeard) sameByUs++;
      if (other !== kind) continue;
      if (isDated && at === time && pool.worker(entry) === fields.worker) repeated = entry;
      if (at > time && !pool.isVague(entry)) placed.isLatestOfKind = false;
      if (!isDated && (fields.retries < 0 || pool.retries(entry) === fields.retries)) same = entry;
    }
    if (repeated === 0 && isResult && !isDated && kind !== KIND.SENT) {
      // After its end the backend tells of that run no more; what it tells is of a run received later.
      if (backendEnd > lastReceived) return -1;
      // Without a number of retries, a second RETRY in a row is the first one told twice.
      if (fields.retries < 0 && kind === KIND.RETRIED && lastOfBackend === kind) return -1;
      if (fields.retries < 0) fields.retries = backendRetries;
      if (same !== 0 && pool.retries(same) === fields.retries) repeated = same;
    } else if (!isDated && fields.isStored) repeated = same;
    else if (isResult && fields.retries < 0) fields.retries = backendRetries;
    placed.isNews = !fields.isStored && sameByUs + 1 > sameByOther;
    if (repeated !== 0) {
      tellAgain(repeated, change);
      return -1;
    }
    if (count >= MAX_ENTRIES) {
      if (tail === pool.next(head)) tail = head;
      pool.removeAfter(head);
    }
    return tail;
  }

  /** What was read may now be heard, and the other way round. */
  function tellAgain(entry: number, change: TaskChange): void {
    if (!pool.isStored(entry)) placed.isNews = false;
    else if (!fields.isStored) pool.markHeard(entry);
    if (fields.isDated) return;
    const isVague = pool.isVague(entry);
    const isBetter = isVague === fields.isVague ? fields.time < pool.time(entry) : isVague;
    if (isBetter) {
      pool.redate(entry, fields.time, fields.isVague);
      placed.isMore = true;
    }
    if (typeof change.detail === 'string' && change.detail !== pool.detail(entry)) {
      pool.setDetail(entry, change.detail);
      placed.isMore = true;
    }
  }
}
