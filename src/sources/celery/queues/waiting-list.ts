/** Lists waiting tasks behind those of a history. */

import type { Task } from '../../../model.ts';
import { passesFilters } from '../../../select/task-filter.ts';
import { comparePositions, sortKeyOf } from '../../../select/task-order.ts';
import { selectTasks } from '../../../select.ts';
import type { ReadContext, TaskPage, TaskPosition, TaskQuery, TaskSource } from '../../../source.ts';
import { FIRST_PLACE, type Place, readPlace, writePlace } from './place.ts';
import type { Queues } from './queues.ts';
import { type WalkedMessage, walkCopies } from './walk.ts';

/** Parts of a walk that one answer reads, each of which costs one or two commands. */
const MAX_PARTS = 250;

/** Lists tasks. */
export type ListTasks = (query: TaskQuery, context: ReadContext) => Promise<TaskPage>;

/**
 * @param tasks lists what a history knows
 * @param isKnown whether it knows a task
 */
export function listWithWaiting(
  tasks: TaskSource,
  queues: Queues,
  isKnown: (id: string) => boolean,
): ListTasks {
  /** The task of a message, if it is to be listed. */
  function rowFor(message: WalkedMessage['message'], query: TaskQuery): Task | null {
    const id = message.facts?.id;
    if (id === undefined || isKnown(id)) return null;
    const row = queues.rows.row(message);
    return row !== null && passesFilters(row, query) ? row : null;
  }

  /** How many rows of the copies match; `null` when that is not known. */
  function countHeld(query: TaskQuery): number | null {
    const held = queues.held();
    if (held === null || held.messages.length > query.scan) return null;
    return held.messages.reduce((sum, message) => sum + (rowFor(message, query) === null ? 0 : 1), 0);
  }

  async function listByTime(query: TaskQuery, context: ReadContext): Promise<TaskPage> {
    const from = query.after?.mark === undefined ? null : readPlace(query.after.mark);
    // Behind a waiting task there are only waiting ones.
    const counts = { ...query, limit: 0, after: null };
    const page = await tasks.listTasks(from === null ? query : counts, context);
    await queues.ready();
    const held = countHeld(query);
    const total = page.total === null || held === null ? null : page.total + held;
    const room = query.limit - page.tasks.length;
    if (page.next !== null || query.limit === 0 || held === 0) return { ...page, total };
    if (from === null && room <= 0) return { ...page, next: positionOf(FIRST_PLACE), total };
    try {
      const { rows, next } = await collect(query, from ?? FIRST_PLACE, room, context);
      return { tasks: [...page.tasks, ...rows], next: next === null ? null : positionOf(next), total };
    } catch {
      // The status of the source tells that Redis is away.
      return { ...page, next: null, total: null };
    }
  }

  async function collect(
    query: TaskQuery,
    from: Place,
    room: number,
    { signal }: ReadContext,
  ): Promise<{ rows: Task[]; next: Place | null }> {
    const rows: Task[] = [];
    const ids = new Set<string>();
    let looked = 0;
    let last = from;

    /** @returns where the next page begins, once this one is full */
    function take({ message, place }: WalkedMessage): Place | null {
      const row = rowFor(message, query);
      if (row !== null && !ids.has(row.id)) {
        if (rows.length >= room) return last;
        rows.push(row);
        ids.add(row.id);
        queues.recent.listed(message);
      }
      last = place;
      looked += 1;
      return looked >= query.scan ? last : null;
    }

    const copies = queues.copies();
    const held = queues.held();
    if (copies !== null && held !== null) {
      for (const walked of walkCopies(copies, from)) {
        // Of several messages of one task the first is listed.
        if (held.get(walked.message.facts?.id ?? '') !== walked.message) continue;
        const next = take(walked);
        if (next !== null) return { rows, next };
      }
      return { rows, next: null };
    }
    let parts = 0;
    let full = 0;
    for await (const part of queues.walk(from, () => room - rows.length + 1, signal)) {
      for (const walked of part.messages) {
        const next = take(walked);
        if (next !== null) return { rows, next };
      }
      parts += 1;
      looked += part.looked - part.messages.length;
      last = part.place;
      // One part more shows whether this was all.
      if (rows.length >= room) full += 1;
      if (full > 1 || looked >= query.scan || parts >= MAX_PARTS) return { rows, next: last };
    }
    return { rows, next: null };
  }

  /** Both lists are in the same order, so a page is made of the first of both. */
  async function listBySort(query: TaskQuery, context: ReadContext): Promise<TaskPage> {
    const page = await tasks.listTasks(query, context);
    await queues.ready();
    const held = queues.held();
    if (held === null || held.messages.length > query.scan) return { ...page, total: null };
    const unknown = held.messages.flatMap((message) => rowFor(message, query) ?? []);
    if (unknown.length === 0) return page;
    const waiting = selectTasks(unknown, query);
    const total = page.total === null ? null : page.total + unknown.length;
    if (query.limit === 0) return { ...page, total };
    const { sort, order, limit } = query;
    const place = (task: Task): TaskPosition => ({ key: sortKeyOf(task, sort), id: task.id });
    const end = page.next;
    // Behind the place up to which the history has looked, a row of its own may come first.
    const fitting =
      end === null
        ? waiting.tasks
        : waiting.tasks.filter((task) => comparePositions(place(task), end, order) <= 0);
    const merged = [...page.tasks, ...fitting].sort((a, b) => comparePositions(place(a), place(b), order));
    const rows = merged.slice(0, limit);
    const last = rows.at(-1);
    if (merged.length > limit && last !== undefined) return { tasks: rows, next: place(last), total };
    if (end !== null) return { tasks: rows, next: end, total };
    return { tasks: rows, next: waiting.next, total };
  }

  return async (query, context) => {
    if (!mayWait(query)) return tasks.listTasks(query, context);
    return query.sort === 'timestamp' ? listByTime(query, context) : listBySort(query, context);
  };
}

/** Whether a waiting task can pass these filters: it is PENDING, on no worker and of no time. */
function mayWait({ states, workers, since, until }: TaskQuery): boolean {
  const isPending = states.length === 0 || states.includes('PENDING');
  return isPending && workers.length === 0 && since === null && until === null;
}

function positionOf(place: Place): TaskPosition {
  return { key: null, id: place.tag, mark: writePlace(place) };
}
