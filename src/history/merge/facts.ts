/**
 * Which of several messages is believed about each field of a task, independent of their order:
 * - name: the client's (`sent`) before the backend's or a queue's before the worker's, whose `task-received` may
 *   carry a shadow name; of equals the latest (`replace()` gives a task a new name)
 * - args, queue, eta: an event's before the backend's, of equals the latest
 * - parent and root: the earliest, since a retry names the task itself as its parent
 * - result: the event's text, unless it was cut and the backend has the whole
 * - exception: of the end of the task before that of a retry, an event's before the backend's
 */
import type { TaskTextField } from '../../model.ts';
import type { TaskChange } from '../history.ts';
import { FACT, type Records } from '../table/records.ts';
import type { SlotGroups } from '../table/slot-groups.ts';
import { KIND } from '../table/timeline.ts';
import type { Placed } from './intake.ts';
import type { Lineage } from './lineage.ts';
import { keepStamps } from './stamps.ts';
import { createTexts, moveLabel } from './texts.ts';

const COLUMN_OF: { readonly [Field in TaskTextField]?: 'args' | 'kwargs' | 'results' } = {
  args: 'args',
  kwargs: 'kwargs',
  result: 'results',
};

/** Labels of a task whose indexes are behind. */
export interface Pending {
  name: number;
  queue: number;
}

/** Where a task's relatives are found. */
export interface Relatives {
  readonly byParent: SlotGroups;
  readonly byGroup: SlotGroups;
  /** Header tasks by the id of their chord's body. */
  readonly byChord: SlotGroups;
  /** Tasks by root, but for those that are their own. */
  setRoot(slot: number, root: string | null): void;
}

/** @returns a function that takes over what a message tells beside the change itself */
export function createFacts(records: Records, lineage: Lineage) {
  const texts = createTexts(records);

  return function takeFacts(slot: number, change: TaskChange, placed: Placed, pending: Pending): void {
    const opens = placed.kind === KIND.SENT || placed.kind === KIND.RECEIVED;
    const isResult = change.origin === 'result';
    // What does not open a run tells of the message only as far as nothing better is known.
    const isWeak = isResult || !opens || change.stored === true;
    if (typeof change.name === 'string') {
      takeName(slot, change.name, isResult || change.stored === true, placed, pending);
    }
    if (change.args !== undefined || change.queue !== undefined || change.eta !== undefined) {
      takeMessage(slot, change, isWeak, placed, pending);
    }
    if (change.parentId !== undefined || change.rootId !== undefined) {
      lineage.take(slot, change, isWeak, placed.isEarliestOpening);
    }
    if (typeof change.groupId === 'string') lineage.setGroup(slot, change.groupId, true);
    if (typeof change.chordId === 'string') lineage.setChord(slot, change.chordId, true);
    if (change.stamps !== undefined) takeStamps(slot, change.stamps);
    if (change.kind !== undefined && change.kind !== null) records.extra(slot).kind = change.kind;
    if (placed.kind === KIND.SUCCEEDED) takeResult(slot, change, isResult, placed);
    if (typeof change.exception === 'string' || typeof change.traceback === 'string') {
      takeException(slot, change, isResult, placed);
    }
    if (change.truncated !== undefined && change.truncated.length > 0) markCut(slot, change);
  };

  function takeName(slot: number, name: string, isRead: boolean, placed: Placed, pending: Pending): void {
    const sent = placed.kind === KIND.SENT;
    const strength = isRead ? FACT.NAME_RESULT : sent ? FACT.NAME_SENT : FACT.NAME_ANY;
    const facts = records.facts[slot] as number;
    const known = facts & (FACT.NAME_SENT | FACT.NAME_RESULT | FACT.NAME_ANY);
    // The lower bit is the stronger word.
    const strongest = known & -known;
    if (strongest !== 0 && strongest < strength) return;
    if (strongest === strength && !placed.isLatestOfKind) return;
    records.facts[slot] = facts | strength;
    pending.name = moveLabel(records.names, pending.name, records.name[slot] as number, name);
  }

  function takeMessage(
    slot: number,
    change: TaskChange,
    isWeak: boolean,
    placed: Placed,
    pending: Pending,
  ): void {
    const facts = records.facts[slot] as number;
    if (isWeak ? (facts & FACT.ARGS_EVENT) === 0 : placed.isLatestOpening) {
      if (typeof change.args === 'string') {
        texts.set(records.args, slot, change.args);
        uncut(slot, 'args');
      }
      if (typeof change.kwargs === 'string') {
        texts.set(records.kwargs, slot, change.kwargs);
        uncut(slot, 'kwargs');
      }
      if (!isWeak && typeof change.args === 'string') records.facts[slot] = facts | FACT.ARGS_EVENT;
    }
    takeTimes(slot, change, isWeak, placed);
    if (typeof change.queue === 'string') {
      const known = records.facts[slot] as number;
      // Of what opens a run only `sent` tells the queue, and it may come behind the worker's `received`.
      if ((known & FACT.QUEUE_EVENT) === 0 || (!isWeak && placed.isLatestOfKind)) {
        pending.queue = moveLabel(records.queues, pending.queue, records.queue[slot] as number, change.queue);
        if (!isWeak) records.facts[slot] = known | FACT.QUEUE_EVENT;
      }
    }
  }

  function takeTimes(slot: number, { eta, expires }: TaskChange, isWeak: boolean, placed: Placed): void {
    const facts = records.facts[slot] as number;
    if (isWeak ? (facts & FACT.ETA_EVENT) === 0 : placed.isLatestOpening) {
      if (typeof eta === 'number') records.extra(slot).eta = eta;
      else if (eta === null && records.extras.has(slot)) records.extra(slot).eta = null;
      if (!isWeak && eta !== undefined) records.facts[slot] = facts | FACT.ETA_EVENT;
    }
    if (typeof expires !== 'number') return;
    const more = records.extra(slot);
    if (isWeak ? more.expires === null : placed.isLatestOpening) more.expires = expires;
  }

  function takeStamps(slot: number, given: unknown): void {
    const stamps = keepStamps(given);
    if (stamps === null) return;
    const more = records.extra(slot);
    records.textBytes += stamps.size - (more.stamps?.size ?? 0);
    more.stamps = stamps;
  }

  function takeResult(slot: number, change: TaskChange, isResult: boolean, placed: Placed): void {
    const facts = records.facts[slot] as number;
    if (!isResult && typeof change.runtime === 'number' && placed.isLatestOfKind) {
      records.runtimes[slot] = change.runtime;
    }
    if (typeof change.result !== 'string') return;
    const known = (facts & FACT.RESULT_EVENT) !== 0;
    const cut = change.truncated?.includes('result') === true;
    if (!placed.isLatestOfKind || (isResult && known && (facts & FACT.RESULT_CUT) === 0)) return;
    // The backend's whole value stays when the event's cut one comes behind it.
    if (!isResult && cut && !known && records.results[slot] !== null) {
      records.facts[slot] = facts | FACT.RESULT_EVENT | FACT.RESULT_CUT;
      return;
    }
    texts.set(records.results, slot, change.result);
    if (isResult) uncut(slot, 'result');
    else records.facts[slot] = facts | FACT.RESULT_EVENT | (cut ? FACT.RESULT_CUT : 0);
  }

  function takeException(slot: number, change: TaskChange, isResult: boolean, placed: Placed): void {
    const more = records.extra(slot);
    const rank = (placed.kind === KIND.RETRIED ? 0 : 2) + (isResult ? 1 : 2);
    if (rank < more.exceptionRank || (rank === more.exceptionRank && !placed.isLatestOfKind)) return;
    more.exceptionRank = rank;
    if (typeof change.exception === 'string')
      more.exception = texts.replace(more.exception, change.exception);
    if (typeof change.traceback === 'string')
      more.traceback = texts.replace(more.traceback, change.traceback);
  }

  function uncut(slot: number, field: TaskTextField): void {
    const more = records.extras.size === 0 ? undefined : records.extras.get(slot);
    if (more?.cut.includes(field)) more.cut = more.cut.filter((other) => other !== field);
  }

  /** Only of what was taken: another message may have told the whole. */
  function markCut(slot: number, change: TaskChange): void {
    const more = records.extra(slot);
    for (const field of change.truncated as readonly TaskTextField[]) {
      const column = COLUMN_OF[field];
      const held = column === undefined ? null : records[column][slot];
      if (held != null && records.values.read(held).text !== change[field]) continue;
      if (!more.cut.includes(field)) more.cut.push(field);
    }
  }
}
