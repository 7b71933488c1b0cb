import '../style/workers.css';
import type { WorkersBody } from '../../client.ts';
import type { RunningTaskBody, UnassignedTasksBody, WorkerBody } from '../../wire.ts';
import { client } from '../live/connection.ts';
import { useHeldRows } from '../live/pace.ts';
import { useResource } from '../live/use-resource.ts';
import { Facts } from '../parts/facts.tsx';
import { Ago } from '../parts/inline.tsx';
import { Empty, ReadState, ViewHead } from '../parts/view.tsx';
import { linkHere, linkTo, taskLink, workerLink } from '../route.ts';
import { count, counted, duration } from '../text/format.ts';
import { callText } from '../text/words.ts';
import { byTrouble, Elapsed, keyOf, loadText, StuckMark, WorkerState } from './worker-parts.tsx';
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

/** Number of tasks on a card; the page of one worker shows all listed tasks. */
const MOST_TASKS = 4;

/** A worker, its running tasks, and its facts. @param isWhole whether this is the page of that worker alone */
function WorkerCard(props: {
  readonly worker: WorkerBody;
  /** When it was read, and when the monitor wrote the answer, in milliseconds since 1970. */
  readonly at: number;
  readonly writtenAt: number;
  readonly isWhole?: boolean;
}) {
  const { worker, at, writtenAt, isWhole = false } = props;
  const { hostname, queues } = worker;
  const isStuck = worker.stuck === true;
  return (
    <section class={isStuck ? 'panel worker is-stuck' : 'panel worker'} aria-label={hostname}>
      <div class="flow panel-head">
        {isStuck && <StuckMark />}
        <h2 class="wrap">{isWhole ? hostname : <a href={workerLink(hostname)}>{hostname}</a>}</h2>
        <WorkerState worker={worker} />
        <b class="num" title="Busy slots of all slots">
          {loadText(worker)}
        </b>
        <span class="dim wrap">{queues?.join(', ')}</span>
        <span class="small-text dim end">
          {worker.last_heartbeat === null ? (
            worker.source
          ) : (
            <>
              seen <Ago at={worker.last_heartbeat} />
            </>
          )}
        </span>
      </div>
      <Tasks worker={worker} at={at} most={isWhole ? Number.POSITIVE_INFINITY : MOST_TASKS} />
      <Details worker={worker} at={writtenAt} isOpen={isWhole} />
    </section>
  );
}

function Tasks(props: { readonly worker: WorkerBody; readonly at: number; readonly most: number }) {
  const { worker, at, most } = props;
  const { running = null, running_total: total = null, hostname, source } = worker;
  const isUnknown = running?.length === 0 && (worker.active ?? 0) > 0;
  if (running === null || isUnknown) return <p class="dim">It is unknown what it is running.</p>;
  if (running.length === 0) return <p class="dim">Nothing is running.</p>;
  const shown = running.slice(0, most);
  const more = (total ?? running.length) - shown.length;
  return (
    <>
      <RunningTasks tasks={shown} source={source} at={at} />
      {more > 0 && (
        <a href={Number.isFinite(most) ? workerLink(hostname) : tasksLink(hostname)}>
          {counted(more, 'more task')} ›
        </a>
      )}
    </>
  );
}

const tasksLink = (hostname: string): string =>
  linkTo('tasks', { worker: hostname, state: 'STARTED', sort: 'started', order: 'asc' });

/** Running tasks, each with its name, its arguments and how long it has run. */
function RunningTasks(props: {
  readonly tasks: readonly RunningTaskBody[];
  readonly source: string;
  readonly at: number;
}) {
  const { tasks, source, at } = props;
  return (
    <ul class="running" aria-label="Running now">
      {tasks.map((task) => (
        <li key={task.task_id}>
          <div class="one-line">
            {task.stuck === true && <StuckMark />}
            <a href={taskLink(task.task_id, source)}>{task.name ?? task.task_id}</a>{' '}
            <span class="mono dim">{callText(task.args, task.kwargs)}</span>
          </div>
          <Elapsed task={task} at={at} />
        </li>
      ))}
    </ul>
  );
}

function Details(props: { readonly worker: WorkerBody; readonly at: number; readonly isOpen: boolean }) {
  const { worker, at, isOpen } = props;
  const { hostname, registered_tasks: names } = worker;
  // An answer stays valid while only the uptime changes.
  const since = worker.status === 'online' ? Math.max(0, Date.now() - at) : 0;
  const uptime = worker.uptime_seconds === null ? null : worker.uptime_seconds * 1_000 + since;
  const facts = [
    ['Processed', worker.processed === null ? null : counted(worker.processed, 'task')],
    ['Pool', worker.pool],
    ['Load', worker.load_average?.map((load) => load.toFixed(2)).join(' · ') ?? null],
    ['Uptime', uptime === null ? null : duration(uptime)],
    ['Process', worker.pid],
    ['Software', worker.software],
    ['Source', worker.source],
  ] as const;
  return (
    <details open={isOpen}>
      <summary>Details</summary>
      <Facts facts={facts} />
      <a href={linkTo('tasks', { worker: hostname })}>All its tasks ›</a>
      {names !== null && names.length > 0 && (
        <>
          <p class="dim">{counted(names.length, 'registered task')}</p>
          <ul class="names">
            {names.map((name) => (
              <li key={name}>
                <a href={linkTo('tasks', { name, worker: hostname })}>{name}</a>
              </li>
            ))}
          </ul>
        </>
      )}
    </details>
  );
}
