import type { RepeatedTask } from '../../source.ts';
import { addTo } from '../../values.ts';
import { activityRule, clear, counted, type Finding, found, inWords, lookAtTasks } from '../finding.ts';

/** Maximum number of named tasks. */
const MOST_EXAMPLES = 3;

/**
 * `task_ran_twice`: an attempt of a task ran more than once within the last hour, without a retry: its message was
 * delivered again while a worker had it. Unknown to an instance that leaves it to another one to collect. The rule does
 * not apply to a source that does not tell the attempts of a task apart.
 */
export const taskRanTwice = activityRule('task_ran_twice', function* ({ repeated }) {
  yield;
  if (repeated === undefined) return null;
  if (repeated === null) return clear('Only the instance that collects knows which tasks ran twice.');
  const names = new Map<string | null, RepeatedTask[]>();
  for (const task of repeated) addTo(names, task.name, task);
  const findings = [...names].map(([name, tasks]) => findingOf(name, tasks));
  findings.sort((a, b) => Number(b.evidence.tasks) - Number(a.evidence.tasks));
  return found(findings);
});

function findingOf(name: string | null, tasks: readonly RepeatedTask[]): Finding {
  const overlap = Math.max(...tasks.map(overlapOf));
  const first = Math.min(...tasks.flatMap(({ runs }) => runs[1]?.startedAt ?? []));
  const workers = [...new Set(tasks.flatMap(({ runs }) => runs.flatMap(({ worker }) => worker ?? [])))];
  const title = counted(tasks.length, `${name ?? 'unnamed'} task`);
  const together = overlap > 0 ? `, for up to ${inWords(overlap)} at the same time` : '';
  return {
    severity: 'warning',
    since: Number.isFinite(first) ? first : null,
    subject: name,
    summary: `${title} ran twice without a retry${together}`,
    evidence: {
      tasks: tasks.length,
      overlap_seconds: Math.round(overlap / 100) / 10,
      workers: workers.slice(0, MOST_EXAMPLES),
      examples: tasks.slice(-MOST_EXAMPLES).map(exampleOf),
    },
    look: lookAtTasks(name === null ? {} : { name }),
  };
}

/** For how long a later run ran beside the one before it, in milliseconds. */
function overlapOf({ runs }: RepeatedTask): number {
  const overlaps = runs.map(({ startedAt, endedAt }, at) => {
    const before = runs[at - 1]?.endedAt ?? startedAt;
    return Math.min(before, endedAt ?? before) - startedAt;
  });
  return Math.max(0, ...overlaps);
}

function exampleOf({ id, runs }: RepeatedTask): Readonly<Record<string, unknown>> {
  return {
    task_id: id,
    runs: runs.map(({ worker, startedAt, endedAt }) => ({
      worker,
      started: new Date(startedAt).toISOString(),
      finished: endedAt === null ? null : new Date(endedAt).toISOString(),
    })),
  };
}
