/**
 * Which of several messages is believed about each field of a task, independent of their order:
 * - name: the client's (`sent`) before the backend's before the worker's, whose `task-received` may
 *   carry a shadow name; of equals the latest (`replace()` gives a task a new name)
 * - args, queue, eta: an event's before the backend's, of equals the latest
 * - parent and root: the earliest, since a retry names the task itself as its parent
 * - result: the event's text, unless it was cut and the backend has the whole
 * - exception: of the end of the task before that of a retry, an event's before the backend's
 */
import type { TaskTextField } from '../model.ts';
import type { Placed } from './intake.ts';
import type { Labels } from './labels.ts';
import { FACT, inlineBytes, type Records } from './records.ts';
import type { SlotGroups } from './slot-groups.ts';
import type { TaskChange } from './task-history.ts';
import { KIND } from './timeline.ts';
import type { Text } from './values.ts';

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
export function createFacts(records: Records, relatives: Relatives) {
  return function takeFacts(slot: number, change: TaskChange, placed: Placed, pending: Pending): void {
    const opens = placed.kind === KIND.SENT || placed.kind === KIND.RECEIVED;
    const isResult = change.origin === 'result';
    // What does not open a run tells of the message only as far as nothing better is known.
    const isWeak = isResult || !opens;
    if (typeof change.name === 'string') takeName(slot, change.name, isResult, placed, pending);
    if (change.args !== undefined || change.queue !== undefined || change.eta !== undefined) {
      takeMessage(slot, change, isWeak, placed, pending);
    }
    if (change.parentId !== undefined || change.rootId !== undefined)
      takeLineage(slot, change, isWeak, placed);
    if (typeof change.groupId === 'string' || typeof change.chordId === 'string') takeGroup(slot, change);
    if (change.kind !== undefined && change.kind !== null) records.extra(slot).kind = change.kind;
    if (placed.kind === KIND.SUCCEEDED) takeResult(slot, change, isResult, placed);
    if (typeof change.exception === 'string' || typeof change.traceback === 'string') {
      takeException(slot, change, isResult, placed);
    }
    if (change.truncated !== undefined && change.truncated.length > 0) markCut(slot, change, isResult);
  };

  function takeName(slot: number, name: string, isResult: boolean, placed: Placed, pending: Pending): void {
    const sent = placed.kind === KIND.SENT && !isResult;
    const strength = sent ? FACT.NAME_SENT : isResult ? FACT.NAME_RESULT : FACT.NAME_ANY;
    const facts = records.facts[slot] as number;
    const known = facts & (FACT.NAME_SENT | FACT.NAME_RESULT | FACT.NAME_ANY);
    // The lower bit is the stronger word.
    const strongest = known & -known;
    if (strongest !== 0 && strongest < strength) return;
    if (strongest === strength && !placed.isLatestOfKind) return;
    records.facts[slot] = facts | strength;
    pending.name = moveLabel(records.names, pending.name, records.name[slot] as number, name);
  }

  /** Lets a waiting label hold its text until the indexes take it over. */
  function moveLabel(labels: Labels, waiting: number, indexed: number, text: string): number {
    const label = labels.intern(text);
    if (label === waiting) return label;
    if (label !== indexed) labels.retain(label);
    if (waiting !== indexed) labels.release(waiting);
    return label;
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
      if (typeof change.args === 'string') setText(records.args, slot, change.args);
      if (typeof change.kwargs === 'string') setText(records.kwargs, slot, change.kwargs);
      if (!isWeak && typeof change.args === 'string') records.facts[slot] = facts | FACT.ARGS_EVENT;
      if (typeof change.eta === 'number') records.extra(slot).eta = change.eta;
      else if (change.eta === null && records.extras.has(slot)) records.extra(slot).eta = null;
      if (typeof change.expires === 'number') records.extra(slot).expires = change.expires;
    }
    if (typeof change.queue === 'string') {
      const known = records.facts[slot] as number;
      // Of what opens a run only `sent` tells the queue, and it may come behind the worker's `received`.
      if ((known & FACT.QUEUE_EVENT) === 0 || (!isWeak && placed.isLatestOfKind)) {
        pending.queue = moveLabel(records.queues, pending.queue, records.queue[slot] as number, change.queue);
        if (!isWeak) records.facts[slot] = known | FACT.QUEUE_EVENT;
      }
    }
  }

  function takeLineage(slot: number, change: TaskChange, isWeak: boolean, placed: Placed): void {
    const facts = records.facts[slot] as number;
    const fromEvent = (facts & FACT.LINEAGE_EVENT) !== 0;
    if (isWeak ? fromEvent : fromEvent && !placed.isEarliestOpening) return;
    if (!isWeak) records.facts[slot] = facts | FACT.LINEAGE_EVENT;
    const id = records.ids[slot] as string;
    if (change.parentId !== undefined) {
      const parent = change.parentId === id ? null : shared(change.parentId);
      const old = records.parents[slot] ?? null;
      if (parent !== old) {
        if (old !== null) relatives.byParent.remove(old, slot);
        records.parents[slot] = parent;
        if (parent !== null) relatives.byParent.add(parent, slot);
      }
    }
    if (change.rootId !== undefined) {
      const root = change.rootId === id ? id : shared(change.rootId);
      if (root !== (records.roots[slot] ?? null)) {
        relatives.setRoot(slot, root);
        records.roots[slot] = root;
      }
    }
  }

  /** The id as the table of tasks holds it: a relative's id is stored once. */
  function shared(id: string | null): string | null {
    if (id === null) return null;
    const slot = records.slots.get(id);
    return slot === undefined ? id : (records.ids[slot] as string);
  }

  function takeGroup(slot: number, change: TaskChange): void {
    const more = records.extra(slot);
    if (typeof change.groupId === 'string' && change.groupId !== more.groupId) {
      if (more.groupId !== null) relatives.byGroup.remove(more.groupId, slot);
      more.groupId = change.groupId;
      relatives.byGroup.add(change.groupId, slot);
    }
    if (typeof change.chordId === 'string' && change.chordId !== more.chordId) {
      if (more.chordId !== null) relatives.byChord.remove(more.chordId, slot);
      more.chordId = change.chordId;
      relatives.byChord.add(change.chordId, slot);
    }
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
    setText(records.results, slot, change.result);
    if (isResult) {
      const more = records.extras.get(slot);
      if (more !== undefined) more.cut = more.cut.filter((field) => field !== 'result');
    } else records.facts[slot] = facts | FACT.RESULT_EVENT | (cut ? FACT.RESULT_CUT : 0);
  }

  function takeException(slot: number, change: TaskChange, isResult: boolean, placed: Placed): void {
    const more = records.extra(slot);
    const rank = (placed.kind === KIND.RETRIED ? 0 : 2) + (isResult ? 1 : 2);
    if (rank < more.exceptionRank || (rank === more.exceptionRank && !placed.isLatestOfKind)) return;
    more.exceptionRank = rank;
    if (typeof change.exception === 'string') more.exception = replaceText(more.exception, change.exception);
    if (typeof change.traceback === 'string') more.traceback = replaceText(more.traceback, change.traceback);
  }

  function markCut(slot: number, change: TaskChange, isResult: boolean): void {
    const more = records.extra(slot);
    for (const field of change.truncated as readonly TaskTextField[]) {
      if (field === 'result' && !isResult && records.results[slot] !== null && !wasTaken(slot, change))
        continue;
      if (!more.cut.includes(field)) more.cut.push(field);
    }
  }

  function wasTaken(slot: number, change: TaskChange): boolean {
    return records.values.read(records.results[slot] ?? null).text === change.result;
  }

  function setText(column: (Text | null)[], slot: number, text: string): void {
    column[slot] = replaceText(column[slot] ?? null, text);
  }

  function replaceText(old: Text | null, text: string): Text {
    if (old === text) return old;
    records.textBytes -= inlineBytes(old);
    records.values.drop(old);
    const kept = records.values.keep(text);
    records.textBytes += inlineBytes(kept);
    return kept;
  }
}
