import type { TaskBody, TaskDetailBody } from '../../client.ts';
import { canAskFor } from '../abilities.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { causeLink, taskLink, workflowLink } from '../route.ts';
import { counted } from '../text/numbers.ts';

const MOST_FAILED = 100;

/** Where the failure of a task comes from, and what it has prevented. */
export function Story({ task }: { readonly task: TaskDetailBody }) {
  const root = task.root_id ?? task.task_id;
  const failed = useResource(
    root,
    async (signal) =>
      canAskFor('root_id', 'state')
        ? await client.tasks({ root_id: root, state: 'FAILURE', limit: MOST_FAILED }, { signal })
        : null,
    { news: (event) => event.task_id !== null, gap: 2_000, keep: true },
  );
  const tasks = failed.data?.tasks ?? [];
  const first = isConsequence(task) ? tasks.find((other) => !isConsequence(other)) : undefined;
  const unrun = tasks.filter((other) => isConsequence(other) && other.task_id !== task.task_id).length;
  return (
    <p class="task-story">
      {first !== undefined && (
        <span>
          Consequence of <a href={taskLink(first.task_id)}>{first.name ?? first.task_id} ›</a>
        </span>
      )}
      {task.cause !== null && canAskFor('cause') && (
        <a href={causeLink(task.cause)}>All failures of this cause ›</a>
      )}
      {unrun > 0 && <a href={workflowLink(task.task_id)}>{`${counted(unrun, 'step')} never ran ›`}</a>}
    </p>
  );
}

const isConsequence = ({ flags }: TaskBody): boolean => flags.includes('consequence');
