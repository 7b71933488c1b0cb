import type { RunningTaskBody, WorkerBody } from '../../wire.ts';
import { Facts } from '../parts/fact.tsx';
import { Ago } from '../parts/moment.tsx';
import { linkTo, taskLink, workerLink } from '../route.ts';
import { counted, duration } from '../text/numbers.ts';
import { callText } from '../text/states.ts';
import { loadText } from './load.ts';
import { Elapsed, StuckMark, WorkerState } from './worker-parts.tsx';

/** Number of tasks on a card; the page of one worker shows all listed tasks. */
const MOST_TASKS = 4;

/** A worker, its running tasks, and its facts. @param isWhole whether this is the page of that worker alone */
export function WorkerCard(props: {
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
export function RunningTasks(props: {
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
