import type { QueueBody, StatsQueueBody, TaskStatsBody, WorkersBody } from '../../client.ts';
import { canAskFor } from '../abilities.ts';
import { LineChart } from '../charts/line-chart.tsx';
import { QueueChart } from '../charts/queue-chart.tsx';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Tile } from '../parts/fact.tsx';
import { LatestTasks } from '../parts/latest-tasks.tsx';
import { Moment } from '../parts/moment.tsx';
import { Empty, isProblem, Problem, ReadState } from '../parts/problem.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { stepsOf, useRange } from '../range/use-range.ts';
import { linkTo, workerLink } from '../route.ts';
import { count } from '../text/numbers.ts';
import { WorkerState } from '../workers/worker-parts.tsx';
import { Consumers, oldestText, type QueueFigures, rateText, waitingText } from './queue-columns.tsx';

const FEW = 5;
const LATEST = 10;
const WAITING = ['PENDING', 'RECEIVED', 'RETRY'] as const;
const ENDED = ['SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED'] as const;
/** Sources may have further states of running tasks. */
const RUNNING = canAskFor('not_state') ? { not_state: [...WAITING, ...ENDED] } : { state: 'STARTED' };
/** What is so now, regardless of the page's period. */
const ANY_TIME = { range: '' };

const PARTS = [
  { title: 'Running', query: RUNNING, all: { state: 'STARTED' }, limit: FEW },
  { title: 'Waiting', query: { state: WAITING }, all: { state: WAITING }, limit: FEW },
  { title: 'Latest tasks', query: {}, all: {}, limit: LATEST },
] as const;

/** One queue over time: its depth, its waits, the messages that enter and leave, its workers and its tasks. */
export function QueueView({ id }: { readonly id: string }) {
  const range = useRange();
  const resource = useResource(
    `${range.key} ${id}`,
    async (signal) =>
      canAskFor('queue')
        ? await client.tasks({ limit: 0, queue: id, ...range.stats() }, { signal })
        : { stats: null, sources: [] },
    { keep: true, every: 10_000 },
  );
  const { data, at } = resource;
  const components = useResource('queues', (signal) => client.components({ signal }), { every: 10_000 });
  const queues = (components.data?.queues?.queues ?? []).filter(({ name }) => name === id);
  const stats = data?.stats ?? null;
  const depths = stats?.queue_depths?.find(({ queue }) => queue === id) ?? null;
  return (
    <>
      <ViewHead title={id} at={at}>
        {canAskFor('queue') && (
          <a class="button small" href={linkTo('tasks', { queue: id })}>
            Tasks of this queue
          </a>
        )}
      </ViewHead>
      <ReadState what="this queue" shape="charts" of={resource} />
      {depths?.growing_since != null && (
        <p class="tone-failure">
          Growing since <Moment at={depths.growing_since} />
        </p>
      )}
      {(queues.length === 0 ? [null] : queues).map((now) => (
        <Figures
          key={now?.source}
          queue={{ name: id, now, over: depths }}
          stepSeconds={stats?.step_seconds ?? 60}
        />
      ))}
      <States queues={queues} />
      {data !== null && depths === null && (
        <Empty title="There is no data about this queue over time">Try a longer period.</Empty>
      )}
      {stats !== null && depths !== null && <Charts id={id} stats={stats} depths={depths} />}
      <Workers queue={id} />
      {canAskFor('queue', 'state') && <Tasks queue={id} />}
    </>
  );
}

/** The current depth and rates. */
function Figures({ queue, stepSeconds }: { readonly queue: QueueFigures; readonly stepSeconds: number }) {
  const { over } = queue;
  return (
    <dl class="panel tiles">
      <Tile name="Waiting" value={waitingText(queue)} />
      <Tile name="Oldest due" value={oldestText(queue)} />
      <Tile name="In/min" value={rateText(over?.sent, stepSeconds)} />
      <Tile name="Out/min" value={rateText(over?.received, stepSeconds)} />
      <Tile name="Workers" value={<Consumers queue={queue} />} />
    </dl>
  );
}

/** Number of a queue's tasks in each of the engine's own states, each with a link to them. */
function States({ queues }: { readonly queues: readonly QueueBody[] }) {
  const known = queues.filter(({ engine_states }) => engine_states !== null);
  if (known.length === 0) return null;
  return (
    <section class="panel" aria-label="States">
      <h2>States</h2>
      {known.map(({ name: queue, source, paused, engine_states }) => (
        <ul key={source} class="states">
          {paused === true && (
            <li>
              <b class="tone-retry">Paused: workers receive no tasks from it</b>
            </li>
          )}
          {Object.entries(engine_states ?? {}).map(([state, tasks]) => (
            <li key={state}>
              <a href={linkTo('tasks', { queue, source, engine_state: state, ...ANY_TIME })}>{state}</a>{' '}
              <b class="num">{count(tasks)}</b>
            </li>
          ))}
        </ul>
      ))}
    </section>
  );
}

/** Charts of the depth, the waits, and the messages that enter and leave. */
function Charts(props: {
  readonly id: string;
  readonly stats: TaskStatsBody;
  readonly depths: StatsQueueBody;
}) {
  const { id, stats, depths } = props;
  const shared = { ...stepsOf(stats), filters: { queue: id } };
  return (
    <>
      <section class="panel">
        <h2>Waiting</h2>
        <QueueChart
          {...shared}
          label={`Waiting in ${id}`}
          waiting={depths.waiting}
          oldest={depths.oldest_seconds}
          isAtLeast={depths.oldest_at_least}
        />
      </section>
      <section class="panel">
        <h2>In and out</h2>
        <LineChart
          {...shared}
          label={`In and out of ${id}`}
          unit="count"
          lines={[
            { label: 'in', values: depths.sent, look: 'thin', tone: 'waiting' },
            { label: 'out', values: depths.received, look: 'thick', tone: 'succeeded' },
          ]}
        />
      </section>
    </>
  );
}

/** The running and waiting tasks of a queue, and its latest tasks, if the source can filter by them. */
function Tasks({ queue }: { readonly queue: string }) {
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
function Workers({ queue }: { readonly queue: string }) {
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
