/** The tasks around a task in its workflow. */
import type { GraphState, TaskDetailBody } from '../../client.ts';
import { branchesOf } from '../graph/node-state.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { useWindow } from '../parts/long-list.ts';
import { isProblem, Problem } from '../parts/view.tsx';
import { workflowLink } from '../route.ts';
import { useNarrow } from '../store.ts';
import { millis } from '../text/format.ts';
import { type Facts, factsOfRow, openedTo, type Row, rowsOf } from '../workflow/rows.ts';
import { busyTimes, type Interval, timeScale } from '../workflow/times.ts';
import { useNow, useWorkflow, type Workflow } from '../workflow/use-workflow.ts';
import { Axis, BAR_END_PX, Cells, classesOfRow, pauseBands } from '../workflow/waterfall-row.tsx';

/** Maximum number of nodes that are read: the nearest ones. */
const MOST_NODES = 200;
const MOST_ROWS = 5;
const NAME_SHARE = 0.38;

/** Whether nothing tells of other tasks in the workflow of a task. */
export const isAlone = ({
  task_id,
  parent_id,
  chord_id,
  group_id,
  root_id,
  children,
}: TaskDetailBody): boolean =>
  [parent_id, chord_id, group_id].every((id) => id === null) &&
  children.length === 0 &&
  (root_id === null || root_id === task_id);

/** The nearest part of the workflow of a task; `workflow` is `null` if there is none, or until it is known. */
export function useNear(task: TaskDetailBody): {
  readonly workflow: Workflow | null;
  readonly error: unknown;
} {
  const { task_id, children } = task;
  const { data, error } = useResource<GraphState | null>(
    `${task_id} ${children.length} ${isAlone(task)}`,
    async (signal) =>
      isAlone(task)
        ? null
        : // Whether all tasks have ended is not told here: none is said to have never run because of that.
          { ...(await client.graph(task_id, { limit: MOST_NODES }, { signal })), complete: false },
    { news: (event) => !isAlone(task) && event.task_id !== null, gap: 2_000, keep: true },
  );
  return { workflow: useWorkflow(data), error };
}

/** A waterfall of the nearest tasks, with the earlier attempts of the task itself. */
export function NearTasks(props: {
  readonly task: TaskDetailBody;
  readonly workflow: Workflow | null;
  readonly error: unknown;
}) {
  const { task, workflow, error } = props;
  if (isProblem(error, 'source_not_configured')) return null;
  return (
    <section class="panel" aria-label="Workflow">
      <div class="flow panel-head">
        <h2>Workflow</h2>
        <a class="panel-more end" href={workflowLink(task.task_id)}>
          Show all in the workflow ›
        </a>
      </div>
      {error !== null && <Problem what="the workflow" error={error} />}
      {workflow !== null && <Rows task={task} workflow={workflow} />}
    </section>
  );
}

function Rows({ task, workflow }: { readonly task: TaskDetailBody; readonly workflow: Workflow }) {
  const isNarrow = useNarrow();
  const list = useWindow(0, 0);
  const now = useNow(workflow);
  const rows = nearest(workflow, task.task_id).map((row) => {
    const isAsked = row.kind === 'task' && row.key === task.task_id;
    const facts = factsOfRow(row, workflow);
    return { row, isAsked, facts: isAsked ? withAttempts(facts, task) : facts };
  });
  const scale = timeScale(
    busyTimes(
      rows.map(({ facts }) => facts.span),
      now,
    ),
  );
  const timeWidth = list.width * (isNarrow ? 1 : 1 - NAME_SHARE) - BAR_END_PX;
  const style = { '--name': `${NAME_SHARE * 100}%`, '--bands': pauseBands(scale) };
  return (
    <div class="wf-list" ref={list.scroller} style={style}>
      <div aria-hidden="true">
        <Axis scale={scale} width={timeWidth} />
      </div>
      <ul>
        {rows.map((one) => {
          const isCause = one.row.kind === 'task' && one.row.key === workflow.outcome.cause?.id;
          const cells = { ...one, isCause, scale, now, timeWidth };
          return (
            <li key={one.row.key} class={classesOfRow(cells)} aria-current={one.isAsked ? 'true' : undefined}>
              <Cells {...cells} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** The rows that are nearest to a task: those that it is below and those after it, rather than those before it. */
function nearest({ tree }: Workflow, id: string): readonly Row[] {
  const opened = openedTo({ others: 'tasks', rows: new Map(), listed: new Map() }, tree, id);
  const first = branchesOf(new Set([id]), tree.parentOf);
  const rows = rowsOf({ tree, opened, first, only: null }).filter(({ kind }) => kind !== 'more');
  const at = Math.max(
    0,
    rows.findIndex(({ key }) => key === id),
  );
  const distances = rows.map((_, index) => (index < at ? 2 * (at - index) : index - at));
  let [depth, level] = [rows[at]?.depth ?? 0, 0];
  for (let index = at - 1; index >= 0; index -= 1) {
    const above = rows[index]?.depth ?? 0;
    if (above >= depth) continue;
    level += 1;
    depth = above;
    distances[index] = level;
  }
  const near = [...rows.keys()]
    .toSorted((one, other) => (distances[one] ?? 0) - (distances[other] ?? 0))
    .slice(0, MOST_ROWS)
    .toSorted((one, other) => one - other)
    .flatMap((index) => rows[index] ?? []);
  const top = Math.min(...near.map((row) => row.depth));
  return near.map((row) => ({ ...row, depth: row.depth - top }));
}

function withAttempts(facts: Facts, { attempts, state }: TaskDetailBody): Facts {
  const earlier = (attempts ?? []).slice(0, state === 'RETRY' ? undefined : -1);
  const known = earlier.flatMap(({ started, finished }): Interval[] => {
    const [from, to] = [millis(started), millis(finished)];
    return from === null || to === null || to < from ? [] : [[from, to]];
  });
  return { ...facts, span: { ...facts.span, earlier: known } };
}
