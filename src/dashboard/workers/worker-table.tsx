import { useState } from 'preact/hooks';
import type { WorkerBody } from '../../client.ts';
import { Ago } from '../parts/moment.tsx';
import { useHeldRows } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { count } from '../text/numbers.ts';
import { Elapsed } from './elapsed.tsx';
import { busyOf, byTrouble, keyOf, loadText, shareOf } from './load.ts';
import { StuckMark, WorkerState, workerLink } from './worker-parts.tsx';

/** A column that the table can be sorted by. */
interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
  /** The order in which a first click sorts. */
  readonly compare: (a: WorkerBody, b: WorkerBody) => number;
}

const startOf = ({ running }: WorkerBody): string => running?.[0]?.started ?? '~';

const COLUMNS: readonly Column[] = [
  { title: 'Worker', compare: (a, b) => a.hostname.localeCompare(b.hostname) },
  { title: 'Status', compare: byTrouble },
  {
    title: 'Slots',
    isNumber: true,
    compare: (a, b) => shareOf(b) - shareOf(a) || (busyOf(b) ?? 0) - (busyOf(a) ?? 0),
  },
  { title: 'Longest running', compare: (a, b) => startOf(a).localeCompare(startOf(b)) },
  { title: 'Queues', compare: (a, b) => queuesOf(a).localeCompare(queuesOf(b)) },
  { title: 'Processed', isNumber: true, compare: (a, b) => (b.processed ?? -1) - (a.processed ?? -1) },
  {
    title: 'Seen',
    isNumber: true,
    compare: (a, b) => (b.last_heartbeat ?? '').localeCompare(a.last_heartbeat ?? ''),
  },
];

const queuesOf = ({ queues }: WorkerBody): string => queues?.join(', ') ?? '';

/** Workers as a sortable table; those that need attention first. */
export function WorkerTable({
  workers,
  at,
}: {
  readonly workers: readonly WorkerBody[];
  readonly at: number;
}) {
  const [sort, setSort] = useState({ column: 'Status', isReversed: false });
  const { isHeld, pointer, focus } = useHold();
  const compare = COLUMNS.find(({ title }) => title === sort.column)?.compare ?? byTrouble;
  const sorted = workers.toSorted((a, b) => (sort.isReversed ? compare(b, a) : compare(a, b)));
  const order = sort.isReversed ? 'descending' : 'ascending';
  return (
    <div class="panel table-scroll" {...pointer} {...focus}>
      <table class="stacked worker-table">
        <thead>
          <tr>
            {COLUMNS.map(({ title, isNumber }) => (
              <th
                key={title}
                scope="col"
                class={isNumber ? 'num' : undefined}
                aria-sort={title === sort.column ? order : 'none'}
              >
                <button
                  type="button"
                  class="link"
                  onClick={() =>
                    setSort({ column: title, isReversed: title === sort.column && !sort.isReversed })
                  }
                >
                  {title}
                  {title === sort.column && <span aria-hidden="true">{sort.isReversed ? ' ▲' : ' ▼'}</span>}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {/* A click on a heading sorts at once, even while rows are held. */}
          <Rows key={`${sort.column} ${sort.isReversed}`} workers={sorted} at={at} isHeld={isHeld} />
        </tbody>
      </table>
    </div>
  );
}

function Rows(props: {
  readonly workers: readonly WorkerBody[];
  readonly at: number;
  readonly isHeld: boolean;
}) {
  const rows = useHeldRows(props.workers, keyOf, props.isHeld);
  return (
    <>
      {rows.map((worker) => (
        <Row key={keyOf(worker)} worker={worker} at={props.at} />
      ))}
    </>
  );
}

function Row({ worker, at }: { readonly worker: WorkerBody; readonly at: number }) {
  const { hostname, running, processed } = worker;
  const longest = running?.[0];
  return (
    <tr>
      <th scope="row">
        {worker.stuck === true && <StuckMark />}
        <a class="wrap" href={workerLink(hostname)}>
          {hostname}
        </a>
      </th>
      <td data-label="Status">
        <WorkerState worker={worker} />
      </td>
      <td class="num" data-label="Slots">
        {loadText(worker)}
      </td>
      <td data-label="Longest running">
        {longest === undefined ? (
          <span class="dim">–</span>
        ) : (
          <>
            <div class="one-line">{longest.name ?? longest.task_id}</div>
            <Elapsed task={longest} at={at} />
          </>
        )}
      </td>
      <td data-label="Queues">{queuesOf(worker) || <span class="dim">–</span>}</td>
      <td class="num" data-label="Processed">
        {processed === null ? '–' : count(processed)}
      </td>
      <td class="num" data-label="Seen">
        <Ago at={worker.last_heartbeat} isShort />
      </td>
    </tr>
  );
}
