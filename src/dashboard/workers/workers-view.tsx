import type { WorkerBody } from '../../client.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Sources } from '../parts/age.tsx';
import { Ago } from '../parts/moment.tsx';
import { Empty, Loading, Problem } from '../parts/problem.tsx';
import { Status } from '../parts/state-badge.tsx';
import { useHeldRows } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { ViewHead } from '../parts/view-head.tsx';
import { linkTo } from '../route.ts';
import { count, counted, duration } from '../text/numbers.ts';

const keyOf = ({ source, hostname }: WorkerBody): string => `${source} ${hostname}`;

/** Lists the workers. */
export function WorkersView() {
  const { data, error, at, reload } = useResource('workers', (signal) => client.workers({ signal }), {
    every: 5_000,
    news: (event) => event.task_id === null,
  });
  const { isHeld, pointer, focus } = useHold();
  const workers = useHeldRows(data?.workers ?? [], keyOf, isHeld);
  return (
    <>
      <ViewHead title="Workers" at={at}>
        {data !== null && (
          <span class="dim">{`${workers.filter(({ status }) => status === 'online').length} of ${count(workers.length)} online`}</span>
        )}
      </ViewHead>
      {error !== null && <Problem error={error} retry={reload} />}
      <Sources sources={data?.sources} />
      {data === null && error === null && <Loading />}
      {data !== null && workers.length === 0 && (
        <Empty title="No workers yet">
          A worker appears with its first heartbeat. Celery workers send heartbeats unless you start them with{' '}
          <code>--without-heartbeat</code>.
        </Empty>
      )}
      <div class="cards" {...pointer} {...focus}>
        {workers.map((worker) => (
          <Worker key={keyOf(worker)} worker={worker} at={Date.parse(data?.generated_at ?? '')} />
        ))}
      </div>
    </>
  );
}

/** Engines do not always report how many tasks a worker runs, or its capacity. */
function busy(active: number | null, slots: number | null): string {
  if (slots !== null) return `${active === null ? '–' : count(active)} of ${count(slots)} busy`;
  return active === null ? 'running tasks unknown' : `${count(active)} running`;
}

/** How long a worker is up by now. An answer stays valid while only this changes. @param at when it was answered */
function uptimeOf({ uptime_seconds: seconds, status }: WorkerBody, at: number): number | null {
  if (seconds === null) return null;
  return seconds * 1_000 + (status === 'online' ? Math.max(0, Date.now() - at) : 0);
}

function Worker({ worker, at }: { readonly worker: WorkerBody; readonly at: number }) {
  const { hostname, status, active, concurrency, queues, registered_tasks: names } = worker;
  const slots = concurrency ?? worker.pool_size;
  const uptime = uptimeOf(worker, at);
  return (
    <section class="panel worker" aria-label={hostname}>
      <div class="panel-head">
        <h2 class="wrap">{hostname}</h2>
        <Status status={status} />
        <span class="dim worker-seen">
          {worker.last_heartbeat === null ? worker.source : <Ago at={worker.last_heartbeat} />}
        </span>
      </div>
      <div class="worker-load">
        {active !== null && slots !== null && slots > 0 && (
          <meter min={0} max={slots} value={active} aria-label="Busy slots" />
        )}
        <span class="num">{busy(active, slots)}</span>
        <a href={linkTo('tasks', { worker: hostname, state: ['STARTED', 'RECEIVED'] })}>Current tasks</a>
        <a href={linkTo('tasks', { worker: hostname })}>All tasks</a>
      </div>
      <dl class="facts">
        <Fact name="Queues" value={queues === null ? null : queues.join(', ') || 'none'} />
        <Fact name="Processed" value={worker.processed === null ? null : counted(worker.processed, 'task')} />
        <Fact name="Pool" value={worker.pool} />
        <Fact name="Load" value={worker.load_average?.map((load) => load.toFixed(2)).join(' · ') ?? null} />
        <Fact name="Uptime" value={uptime === null ? null : duration(uptime)} />
        <Fact name="Process" value={worker.pid === null ? null : String(worker.pid)} />
        <Fact name="Software" value={worker.software} />
      </dl>
      {names !== null && names.length > 0 && (
        <details>
          <summary>{counted(names.length, 'registered task')}</summary>
          <ul class="names">
            {names.map((name) => (
              <li key={name}>
                <a href={linkTo('tasks', { name, worker: hostname })}>{name}</a>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string | null }) {
  if (value === null) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
