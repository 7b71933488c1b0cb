import type { TaskBody, TaskDetailBody, TaskListQuery } from '../../client.ts';
import { canAskFor } from '../abilities.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Problem } from '../parts/problem.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { linkTo, taskLink, workflowLink } from '../route.ts';
import { count, seconds } from '../text/numbers.ts';
import { type Words, wordsFor } from '../text/words.ts';

/** Maximum number of listed tasks for each kind of relation. */
const SHOWN = 10;

/** The tasks that one relation leads to. */
interface Related {
  readonly tasks: readonly TaskBody[];
  /** `null`: unknown. */
  readonly total: number | null;
}

interface Family {
  readonly above: Related;
  readonly children: Related;
  readonly siblings: Related;
}

const NONE: Related = { tasks: [], total: 0 };

/** The tasks around this one in its workflow, with their states. */
export function Flow({ task }: { readonly task: TaskDetailBody }) {
  const words = wordsFor(task.sources, task.source);
  const { task_id, parent_id, chord_id, group_id, root_id, children } = task;
  const isAlone =
    parent_id === null &&
    chord_id === null &&
    group_id === null &&
    children.length === 0 &&
    (root_id === null || root_id === task_id);
  const { data, error } = useResource(
    [task_id, parent_id, chord_id, group_id, children.length > 0].join(' '),
    (signal) => (isAlone ? Promise.resolve(null) : readFamily(task, signal)),
    { news: (event) => !isAlone && event.task_id !== null, gap: 2_000, keep: true },
  );
  if (isAlone) return <p class="dim">{words.alone}</p>;
  return (
    <>
      {error !== null && <Problem what="the workflow" error={error} />}
      {data !== null && (
        <>
          <Group title={words.parent} related={data.above} role={(row) => roleOf(row, task, words)} />
          <Group title="Children" related={data.children} all={{ parent_id: task_id }} />
          <Group
            title={group_id === null ? 'Siblings' : 'Same group'}
            related={data.siblings}
            all={group_id === null ? { parent_id: parent_id ?? '' } : { group_id }}
          />
        </>
      )}
      <p>
        <a href={workflowLink(task_id)}>Show all in the workflow ›</a>
      </p>
    </>
  );
}

async function readFamily(task: TaskDetailBody, signal: AbortSignal): Promise<Family> {
  const { task_id, parent_id, chord_id, group_id, children } = task;
  const read = async (query: TaskListQuery): Promise<Related> => {
    if (!canAskFor(...Object.keys(query))) return NONE;
    const { tasks, total } = await client.tasks({ ...query, limit: SHOWN + 1 }, { signal });
    const others = tasks.filter((other) => other.task_id !== task_id);
    // The task itself is one of its siblings, but may be on a later page.
    const isAmong = query.parent_id !== task_id && query.task_id === undefined;
    return { tasks: others.slice(0, SHOWN), total: total === null ? null : total - (isAmong ? 1 : 0) };
  };
  const above = [parent_id, chord_id].filter((id) => id !== null);
  const [parents, own, siblings] = await Promise.all([
    above.length === 0 ? NONE : read({ task_id: above }),
    children.length === 0 ? NONE : read({ parent_id: task_id }),
    group_id !== null ? read({ group_id }) : parent_id !== null ? read({ parent_id }) : NONE,
  ]);
  return { above: parents, children: own, siblings };
}

function Group(props: {
  readonly title: string;
  readonly related: Related;
  readonly role?: (row: TaskBody) => string;
  /** The filters that list all of them. */
  readonly all?: Readonly<Record<string, string>>;
}) {
  const { title, related, role, all } = props;
  const { tasks, total } = related;
  if (tasks.length === 0) return null;
  return (
    <section class="flow-group" aria-label={title}>
      <h3>{title}</h3>
      <ul class="related">
        {tasks.map((row) => (
          <li key={`${row.source} ${row.task_id}`}>
            <StateBadge state={row.state} engineState={row.engine_state} />
            <a href={taskLink(row.task_id)}>{row.name ?? row.task_id}</a>
            {role !== undefined && <span class="dim">{role(row)}</span>}
            <span class="dim num">{row.runtime === null ? '' : seconds(row.runtime)}</span>
          </li>
        ))}
      </ul>
      {all !== undefined && total !== null && total > tasks.length && (
        <p>
          <a href={linkTo('tasks', { ...all, range: '' })}>{`All ${count(total)}`}</a>
        </p>
      )}
    </section>
  );
}

function roleOf(row: TaskBody, task: TaskDetailBody, words: Words): string {
  return row.task_id === task.chord_id ? "the chord's body" : words.isParent;
}
