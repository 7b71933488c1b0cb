import { useMemo } from 'preact/hooks';
import type { WorkersBody } from '../../client.ts';
import { Empty } from '../parts/problem.tsx';
import { useHeldRows } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { linkTo, taskLink } from '../route.ts';
import { counted } from '../text/numbers.ts';
import { Elapsed } from './elapsed.tsx';
import { allRunning, type Running } from './load.ts';
import { StuckMark, workerLink } from './worker-parts.tsx';

/** Maximum number of rows that are useful to read. */
const MOST_ROWS = 200;

const keyOf = ({ source, task }: Running): string => `${source} ${task.task_id}`;

/** Every running task of all workers; those that most exceed their usual run time come first. */
export function RunningTable({ data, at }: { readonly data: WorkersBody; readonly at: number }) {
  const { isHeld, pointer, focus } = useHold();
  const all = useMemo(() => allRunning(data.workers, data.unassigned ?? [], at), [data, at]);
  const rows = useHeldRows(all, keyOf, isHeld);
  if (rows.length === 0) {
    const isKnown = data.workers.every(({ running }) => running !== null);
    return <Empty title={isKnown ? 'Nothing is running.' : 'It is unknown what is running.'} />;
  }
  return (
    <div class="panel table-scroll" {...pointer} {...focus}>
      <table class="stacked running-table">
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">Running for</th>
            <th scope="col">Worker</th>
            <th scope="col">Queue</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row) => (
            <Row key={keyOf(row)} row={row} />
          ))}
        </tbody>
      </table>
      {rows.length > MOST_ROWS && (
        <p>
          <a href={linkTo('tasks', { state: 'STARTED', sort: 'started', order: 'asc' })}>
            {counted(rows.length - MOST_ROWS, 'more task')} ›
          </a>
        </p>
      )}
    </div>
  );
}

function Row({ row: { task, source, worker, at } }: { readonly row: Running }) {
  return (
    <tr>
      <th scope="row">
        {task.stuck === true && <StuckMark />}
        <a href={taskLink(task.task_id, source)}>{task.name ?? task.task_id}</a>
        {task.args !== null && <div class="mono dim one-line">{task.args}</div>}
      </th>
      <td data-label="Running for">
        <Elapsed task={task} at={at} />
      </td>
      <td data-label="Worker">
        {worker === null ? <span class="dim">unknown</span> : <a href={workerLink(worker)}>{worker}</a>}
      </td>
      <td data-label="Queue">{task.queue ?? <span class="dim">–</span>}</td>
    </tr>
  );
}
