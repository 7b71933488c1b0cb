import type { WorkersBody } from '../../client.ts';
import { canAskFor } from '../abilities.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { LatestTasks } from '../parts/latest-tasks.tsx';
import { isProblem, Problem } from '../parts/problem.tsx';
import { linkTo } from '../route.ts';
import { WorkerState, workerLink } from '../workers/worker-parts.tsx';

const FEW = 5;
const LATEST = 10;
const WAITING = ['PENDING', 'RECEIVED', 'RETRY'] as const;
const ENDED = ['SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED'] as const;
/** Sources may have further states of running tasks. */
const RUNNING = canAskFor('not_state') ? { not_state: [...WAITING, ...ENDED] } : { state: 'STARTED' };
/** Running and waiting tasks are those of now, regardless of the page's period. */
const ANY_TIME = { range: '' };

const PARTS = [
  { title: 'Running', query: RUNNING, all: { state: 'STARTED' }, limit: FEW },
  { title: 'Waiting', query: { state: WAITING }, all: { state: WAITING }, limit: FEW },
  { title: 'Latest tasks', query: {}, all: {}, limit: LATEST },
] as const;

/** The running and waiting tasks of a queue, and its latest tasks, if the source can filter by them. */
export function QueueTasks(props: { readonly queue: string }) {
  return canAskFor('queue', 'state') ? <Parts {...props} /> : null;
}

function Parts({ queue }: { readonly queue: string }) {
  const { data, error, reload } = useResource(
    queue,
    (signal) =>
      Promise.all(PARTS.map(({ query, limit }) => client.tasks({ ...query, queue, limit }, { signal }))),
    { every: 10_000 },
  );
  return (
    <>
      {error !== null && <Problem what="the tasks" error={error} retry={reload} />}
      {PARTS.map(({ title, all }, at) => (
        <LatestTasks
          key={title}
          title={title}
          tasks={data?.[at]?.tasks ?? []}
          total={data?.[at]?.total ?? null}
          all={linkTo('tasks', { queue, ...all, ...ANY_TIME })}
          same="queue"
        />
      ))}
    </>
  );
}

/** The workers that consume from a queue. */
export function QueueWorkers({ queue }: { readonly queue: string }) {
  const { data, error, reload } = useResource('workers', (signal) => client.workers({ signal }), {
    every: 10_000,
  });
  if (data === null) {
    const isShown = error !== null && !isProblem(error, 'source_not_configured');
    return isShown ? <Problem what="workers" error={error} retry={reload} /> : null;
  }
  const workers = data.workers.filter(({ queues }) => queues?.includes(queue) === true);
  return (
    <section class="panel" aria-label="Workers">
      <h2>Workers</h2>
      {workers.length === 0 ? (
        <p class="dim">{noWorker(data)}</p>
      ) : (
        <ul class="counted-links">
          {workers.map((worker) => (
            <li key={`${worker.source} ${worker.hostname}`}>
              <a class="wrap" href={workerLink(worker.hostname)}>
                {worker.hostname}
              </a>
              <span>
                <WorkerState worker={worker} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Some engines do not report from which queues a worker consumes. */
const noWorker = ({ workers }: WorkersBody): string =>
  workers.every(({ queues }) => queues !== null)
    ? 'No known worker consumes this queue.'
    : 'Some workers do not report their queues.';
