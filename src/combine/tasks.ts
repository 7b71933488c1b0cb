/** Combines the tasks of several sources. */
import { isMonitorError, MonitorError } from '../errors.ts';
import type { TaskDetail, TaskTree } from '../model.ts';
import { type FanOut, fanOutOf, type Reply } from '../source/combined-part.ts';
import type { Awaitable, ReadContext, TaskSource } from '../source.ts';
import { listAllTasks } from './task-list.ts';
import { getMergedStats } from './task-stats.ts';

/** The reads of a combined part for tasks. */
export function combineTasks(parts: readonly TaskSource[]): Omit<TaskSource, 'name'> {
  const withTrees = parts.some(({ getTaskTree }) => getTaskTree !== undefined);
  const withStats = parts.every(({ getTaskStats }) => getTaskStats !== undefined);
  return {
    listTasks: (query, context) => listAllTasks(parts, query, context),
    getTask: (id, context) => findTask(parts, id, fanOutOf(context)),
    ...(withTrees && { getTaskTree: (id, context) => findTree(parts, id, fanOutOf(context)) }),
    // Figures that silently leave out a source would be wrong.
    ...(withStats && {
      getTaskStats: (query, context) => getMergedStats(parts, query, fanOutOf(context)),
    }),
  };
}

async function findTask(
  parts: readonly TaskSource[],
  id: string,
  fanOut: FanOut,
): Promise<TaskDetail | null> {
  const found = await firstKnown(
    parts.map((part) => ask(part, 'getTask', fanOut, (context) => part.getTask(id, context))),
  );
  return found === null ? null : fanOut.attribute(found.value, parts[found.index] as TaskSource);
}

async function findTree(parts: readonly TaskSource[], id: string, fanOut: FanOut): Promise<TaskTree | null> {
  const found = await firstKnown<TaskTree | 'none'>(
    parts.map((part) =>
      part.getTaskTree === undefined
        ? ask(part, 'getTask', fanOut, async (context) => (await part.getTask(id, context)) && 'none')
        : ask(part, 'getTaskTree', fanOut, async (context) => part.getTaskTree?.(id, context)),
    ),
  );
  // A source without workflows knows the task.
  if (found?.value === 'none') throw new MonitorError('source_not_configured');
  return found?.value ?? null;
}

/** Reads one task or workflow from a part; `null` when the part does not know the task. */
function ask<Found>(
  part: TaskSource,
  call: string,
  fanOut: FanOut,
  read: (context: ReadContext) => Awaitable<Found | null | undefined>,
): Promise<Reply<Found | null>> {
  return fanOut.ask<Found | null>({
    part,
    call,
    async read(context) {
      try {
        return (await read(context)) ?? null;
      } catch (error) {
        if (isMonitorError(error) && error.code === 'task_not_found') return null;
        throw error;
      }
    },
    count(found) {
      if (typeof found !== 'object' && found !== 'none') {
        throw new TypeError(`${call}() must return an object, or null.`);
      }
      const { tasks } = (found ?? {}) as Partial<TaskTree>;
      return Array.isArray(tasks) ? tasks.length : 1;
    },
  });
}

/**
 * The first result that is not `null`, in the order of the parts and not of their replies, so that the same
 * request always gets the same result. Does not wait for later parts.
 *
 * @returns `null` when no part has a result
 * @throws the first error when no part has a result: the failed part might have had one
 */
async function firstKnown<Found>(
  asked: readonly Promise<Reply<Found | null>>[],
): Promise<{ readonly value: Found; readonly index: number } | null> {
  // A later part that fails must not be an unhandled rejection.
  for (const reply of asked) reply.catch(() => {});
  let failure: { readonly error: unknown } | null = null;
  for (const [index, pending] of asked.entries()) {
    const reply = await pending;
    if ('error' in reply) failure ??= reply;
    else if (reply.raw !== null) return { value: reply.raw, index };
  }
  if (failure !== null) throw failure.error;
  return null;
}
