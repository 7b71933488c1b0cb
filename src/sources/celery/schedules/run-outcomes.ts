/** Adds the outcomes of their tasks to the runs of schedules. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HistoryReader } from '../../../history/history.ts';
import { createLruCache } from '../../../lru-cache.ts';
import { isDone, type Schedule, type ScheduleRun } from '../../../model.ts';
import type { ReadContext, ScheduleSource } from '../../../source.ts';

/** Most runs whose tasks are looked up for one answer: the latest of every entry first. */
const MOST_LOOKUPS = 200;
/** Lookups in one turn of the event loop. */
const LOOKUPS_AT_ONCE = 20;
/** Tasks that have ended, by id: they no longer change. */
const MOST_KNOWN = 10_000;

type Outcome = Pick<ScheduleRun, 'state' | 'runtime'>;

/** A source of schedules whose runs have only id and time. */
export function withOutcomes(schedules: ScheduleSource, reader: HistoryReader): ScheduleSource {
  const known = createLruCache<Outcome>({ entries: MOST_KNOWN });

  async function lookUp(id: string, context: ReadContext): Promise<Outcome | null> {
    const task = await reader.getTask(id, context);
    if (task === null) return null;
    const outcome = { state: task.state, runtime: task.runtime ?? null };
    if (isDone(task.state)) known.set(id, outcome);
    return outcome;
  }

  return {
    ...schedules,
    async listSchedules(context) {
      const listed = await schedules.listSchedules(context);
      if (listed === null) return null;
      const found = new Map<string, Outcome>();
      let lookups = 0;
      for (const { taskId } of latestFirst(listed)) {
        const held = known.get(taskId);
        if (held === undefined && ++lookups > MOST_LOOKUPS) continue;
        const outcome = held ?? (await lookUp(taskId, context));
        if (outcome !== null) found.set(taskId, outcome);
        if (held === undefined && lookups % LOOKUPS_AT_ONCE === 0) await nextTurn();
      }
      return listed.map((schedule) => withFound(schedule, found));
    },
  };
}

/** The latest run of each entry, then the one before it of each … */
function latestFirst(schedules: readonly Schedule[]): readonly ScheduleRun[] {
  const longest = Math.max(0, ...schedules.map(({ lastRuns }) => lastRuns?.length ?? 0));
  return Array.from({ length: longest }, (_, index) =>
    schedules.flatMap(({ lastRuns }) => lastRuns?.[index] ?? []),
  ).flat();
}

function withFound(schedule: Schedule, found: ReadonlyMap<string, Outcome>): Schedule {
  const { lastRuns } = schedule;
  if (lastRuns == null) return schedule;
  return { ...schedule, lastRuns: lastRuns.map((run) => ({ ...run, ...found.get(run.taskId) })) };
}
