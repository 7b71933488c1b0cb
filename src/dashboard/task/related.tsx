import type { TaskBody, TaskDetailBody } from '../../client.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Problem } from '../parts/problem.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { linkTo, taskLink } from '../route.ts';
import { counted, seconds } from '../text/numbers.ts';
import { type Words, wordsFor } from '../text/words.ts';

const MOST_SHOWN = 50;

/** Other tasks of the same workflow, each with its relation to this one. */
export function Related({ task }: { readonly task: TaskDetailBody }) {
  const words = wordsFor(task.sources, task.source);
  const root = task.root_id ?? task.task_id;
  const related = useResource(
    root,
    (signal) => client.tasks({ root_id: root, limit: MOST_SHOWN }, { signal }),
    { news: (event) => event.task_id !== null, gap: 2_000, keep: true },
  );
  const ids = [
    ...new Set([...task.children, ...[task.parent_id, task.chord_id].filter((id) => id !== null)]),
  ];
  const rows = (related.data?.tasks ?? []).filter(({ task_id }) => task_id !== task.task_id);
  const listed = new Set(rows.map(({ task_id }) => task_id));
  const unlisted = ids.filter((id) => !listed.has(id) && id !== task.task_id);
  const total = related.data?.total ?? null;

  return (
    <>
      {related.error !== null && <Problem what="the workflow" error={related.error} />}
      {related.data !== null && rows.length === 0 && unlisted.length === 0 && (
        <p class="dim">{words.alone}</p>
      )}
      <ul class="related">
        {rows.map((row) => (
          <li key={row.task_id}>
            <StateBadge state={row.state} engineState={row.engine_state} />
            <a href={taskLink(row.task_id)}>{row.name ?? row.task_id}</a>
            <span class="dim">{roleOf(row, task, words)}</span>
            <span class="dim num">{row.runtime === null ? '' : seconds(row.runtime)}</span>
          </li>
        ))}
        {unlisted.slice(0, MOST_SHOWN).map((id) => (
          <li key={id}>
            <a class="mono" href={taskLink(id)}>
              {id}
            </a>
            <span class="dim">{id === task.parent_id ? words.isParent : 'related'}</span>
          </li>
        ))}
      </ul>
      {total !== null && total > MOST_SHOWN && (
        <p>
          <a href={linkTo('tasks', { root_id: root })}>{`All ${counted(total, 'task')} of the workflow`}</a>
        </p>
      )}
    </>
  );
}

function roleOf(row: TaskBody, task: TaskDetailBody, words: Words): string {
  if (row.task_id === task.parent_id) return words.isParent;
  if (row.parent_id === task.task_id || task.children.includes(row.task_id)) return words.isChild;
  if (row.task_id === task.chord_id) return "the chord's body";
  if (row.chord_id === task.task_id) return 'member of this chord';
  if (row.group_id !== null && row.group_id === task.group_id) return 'same group';
  if (row.task_id === task.root_id) return 'root of the workflow';
  return 'same workflow';
}
