import { useMemo } from 'preact/hooks';
import type { WorkersBody } from '../../client.ts';
import type { WorkerBody } from '../../wire.ts';
import { type Column, DataTable, orderIn } from '../parts/data-table.tsx';
import { Ago } from '../parts/inline.tsx';
import { Empty } from '../parts/view.tsx';
import { linkTo, taskLink, workerLink } from '../route.ts';
import { counted, countOrDash } from '../text/format.ts';
import { callText } from '../text/words.ts';
import {
  allRunning,
  busyOf,
  byTrouble,
  Elapsed,
  keyOf,
  loadText,
  type Running,
  StuckMark,
  shareOf,
  WorkerState,
} from './worker-parts.tsx';

/** Maximum number of running tasks that are useful to read. */
const MOST_ROWS = 200;

const NONE = <span class="dim">–</span>;

const startOf = ({ running }: WorkerBody): string => running?.[0]?.started ?? '~';
const queuesOf = ({ queues }: WorkerBody): string => queues?.join(', ') ?? '';

const ORDERS: Readonly<Record<string, (a: WorkerBody, b: WorkerBody) => number>> = {
  status: byTrouble,
  worker: (a, b) => a.hostname.localeCompare(b.hostname),
  slots: (a, b) => shareOf(b) - shareOf(a) || (busyOf(b) ?? 0) - (busyOf(a) ?? 0),
  running: (a, b) => startOf(a).localeCompare(startOf(b)),
  queues: (a, b) => queuesOf(a).localeCompare(queuesOf(b)),
  processed: (a, b) => (b.processed ?? -1) - (a.processed ?? -1),
  seen: (a, b) => (b.last_heartbeat ?? '').localeCompare(a.last_heartbeat ?? ''),
};

const workerColumns = (at: number): readonly Column<WorkerBody>[] => [
  {
    title: 'Worker',
    isHead: true,
    order: 'worker',
    cell: ({ hostname, stuck }) => (
      <>
        {stuck === true && <StuckMark />}
        <a class="wrap" href={workerLink(hostname)}>
          {hostname}
        </a>
      </>
    ),
  },
  { title: 'Status', order: 'status', phone: 'beside', cell: (worker) => <WorkerState worker={worker} /> },
  { title: 'Slots', isNumber: true, order: 'slots', phone: 'labelled', cell: loadText },
  {
    title: 'Longest running',
    order: 'running',
    phone: 'hidden',
    cell: ({ running }) => {
      const longest = running?.[0];
      if (longest === undefined) return NONE;
      return (
        <>
          <div class="one-line">{longest.name ?? longest.task_id}</div>
          <Elapsed task={longest} at={at} />
        </>
      );
    },
  },
  { title: 'Queues', order: 'queues', phone: 'labelled', cell: (worker) => queuesOf(worker) || NONE },
  {
    title: 'Processed',
    isNumber: true,
    order: 'processed',
    phone: 'labelled',
    cell: ({ processed }) => countOrDash(processed),
  },
  {
    title: 'Seen',
    isNumber: true,
    order: 'seen',
    phone: 'end',
    cell: ({ last_heartbeat }) => <Ago at={last_heartbeat} isShort />,
  },
];

/** Workers as a sortable table; those that need attention first. */
export function WorkerTable(props: {
  readonly workers: readonly WorkerBody[];
  readonly at: number;
  readonly query: URLSearchParams;
}) {
  const { workers, at, query } = props;
  return (
    <section class="panel">
      <DataTable
        class="worker-table"
        columns={workerColumns(at)}
        rows={workers}
        keyOf={keyOf}
        order={orderIn(query, ORDERS)}
      />
    </section>
  );
}

const RUNNING_COLUMNS: readonly Column<Running>[] = [
  {
    title: 'Task',
    isHead: true,
    cell: ({ task, source }) => (
      <>
        {task.stuck === true && <StuckMark />}
        <a href={taskLink(task.task_id, source)}>{task.name ?? task.task_id}</a>
        <div class="mono dim one-line phone-hidden">{callText(task.args, task.kwargs)}</div>
      </>
    ),
  },
  { title: 'Running for', cell: ({ task, at }) => <Elapsed task={task} at={at} /> },
  {
    title: 'Worker',
    phone: 'beside',
    cell: ({ worker }) =>
      worker === null ? <span class="dim">unknown</span> : <a href={workerLink(worker)}>{worker}</a>,
  },
  { title: 'Queue', phone: 'hidden', cell: ({ task }) => task.queue ?? NONE },
];

/** Every running task of all workers; those that most exceed their usual run time come first. */
export function RunningTable({ data, at }: { readonly data: WorkersBody; readonly at: number }) {
  const rows = useMemo(() => allRunning(data.workers, data.unassigned ?? [], at), [data, at]);
  if (rows.length === 0) {
    const isKnown = data.workers.every(({ running }) => running !== null);
    return <Empty title={isKnown ? 'Nothing is running.' : 'It is unknown what is running.'} />;
  }
  return (
    <section class="panel">
      <DataTable
        class="running-table"
        columns={RUNNING_COLUMNS}
        rows={rows}
        keyOf={({ source, task }) => `${source} ${task.task_id}`}
        most={MOST_ROWS}
      />
      {rows.length > MOST_ROWS && (
        <p>
          <a href={linkTo('tasks', { state: 'STARTED', sort: 'started', order: 'asc' })}>
            {counted(rows.length - MOST_ROWS, 'more task')} ›
          </a>
        </p>
      )}
    </section>
  );
}
