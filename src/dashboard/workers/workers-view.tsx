import '../style/workers.css';
import type { WorkersBody } from '../../client.ts';
import type { UnassignedTasksBody, WorkerBody } from '../../wire.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Empty, ReadState } from '../parts/problem.tsx';
import { useHeldRows } from '../parts/use-hold.ts';
import { ViewHead } from '../parts/view-head.tsx';
import { linkHere, linkTo } from '../route.ts';
import { count, counted } from '../text/numbers.ts';
import { byTrouble, keyOf } from './load.ts';
import { RunningTasks, WorkerCard } from './worker-card.tsx';
import { RunningTable, WorkerTable } from './worker-tables.tsx';

/** More workers than this are shown as a table instead of cards. */
const MOST_CARDS = 10;
/** Number of running tasks per worker to request: the maximum. */
const MOST_RUNNING = 100;

/** Lists the workers and what they run; one of them; or everything that runs. */
export function WorkersView({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  const resource = useResource('workers', (signal) => client.workers({ running: MOST_RUNNING, signal }), {
    every: 5_000,
    news: (event) => event.task_id === null,
  });
  const { data, at } = resource;
  const isRunning = query.get('show') === 'running';
  return (
    <>
      <ViewHead title={id === '' ? 'Workers' : id} at={at}>
        {id !== '' && <a href={linkTo('workers')}>All workers ›</a>}
        {id === '' && data !== null && <Summary data={data} isRunning={isRunning} />}
      </ViewHead>
      <ReadState what="workers" shape="cards" of={resource} />
      {data !== null && <Content data={data} at={at ?? Date.now()} hostname={id} query={query} />}
    </>
  );
}

function Summary({ data, isRunning }: { readonly data: WorkersBody; readonly isRunning: boolean }) {
  const { workers, unassigned = [] } = data;
  const online = workers.filter(({ status }) => status === 'online').length;
  const totals = [...workers, ...unassigned].map(({ running_total: total }) => total ?? null);
  const isKnown = !totals.includes(null);
  const running = totals.reduce<number>((sum, total) => sum + (total ?? 0), 0);
  return (
    <>
      <span class="dim">{`${online} of ${count(workers.length)} online`}</span>
      <span class="switch">
        <a href={linkHere({ show: null })} aria-current={isRunning ? undefined : 'true'}>
          By worker
        </a>
        <a href={linkHere({ show: 'running' })} aria-current={isRunning ? 'true' : undefined}>
          {`All running ${isKnown ? '' : '≥ '}${count(running)}`}
        </a>
      </span>
    </>
  );
}

function Content(props: {
  readonly data: WorkersBody;
  readonly at: number;
  readonly hostname: string;
  readonly query: URLSearchParams;
}) {
  const { data, at, hostname, query } = props;
  const { workers, unassigned = [] } = data;
  if (hostname !== '') {
    const own = workers.filter((worker) => worker.hostname === hostname);
    if (own.length > 0) return <Cards workers={own} data={data} at={at} isWhole />;
    return (
      <Empty title={`No worker ${hostname} is known.`}>
        It may have been offline for too long to be listed.
      </Empty>
    );
  }
  if (query.get('show') === 'running') return <RunningTable data={data} at={at} />;
  return (
    <>
      {workers.length === 0 && (
        <Empty title="No worker seen yet.">
          A worker appears with its first heartbeat. Celery workers send heartbeats unless you start them with{' '}
          <code>--without-heartbeat</code>.
        </Empty>
      )}
      {workers.length > MOST_CARDS ? (
        <WorkerTable workers={workers} at={at} query={query} />
      ) : (
        <Cards workers={workers} data={data} at={at} />
      )}
      {unassigned.map((tasks) => (
        <Unassigned key={tasks.source} tasks={tasks} at={at} />
      ))}
    </>
  );
}

function Cards(props: {
  readonly workers: readonly WorkerBody[];
  readonly data: WorkersBody;
  readonly at: number;
  readonly isWhole?: boolean;
}) {
  const { workers, data, at, isWhole = false } = props;
  const { rows, holders } = useHeldRows(workers.toSorted(byTrouble), keyOf);
  return (
    <div class={isWhole ? undefined : 'cards'} {...holders}>
      {rows.map((worker) => (
        <WorkerCard
          key={keyOf(worker)}
          worker={worker}
          at={at}
          isWhole={isWhole}
          writtenAt={Date.parse(data.generated_at)}
        />
      ))}
    </div>
  );
}

/** Running tasks whose worker is unknown. */
function Unassigned({ tasks, at }: { readonly tasks: UnassignedTasksBody; readonly at: number }) {
  const { source, running, running_total: total } = tasks;
  return (
    <section class="panel worker" aria-label="Running, worker unknown">
      <div class="flow panel-head">
        <h2>Running, worker unknown</h2>
        <span class="dim">{`${total === null ? 'at least ' : ''}${counted(total ?? running.length, 'task')} of ${source}`}</span>
      </div>
      <RunningTasks tasks={running} source={source} at={at} />
    </section>
  );
}
