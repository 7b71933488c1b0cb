import { Fragment } from 'preact';
import type {
  DrainBody,
  FindingBody,
  QueueBody,
  StatsQueueBody,
  TaskStatsBody,
  WorkerBody,
} from '../../wire.ts';
import { greatest, lineOf } from '../charts/chart.ts';
import { Sparkline } from '../charts/chart-frame.tsx';
import { TimeChart } from '../charts/time-chart.tsx';
import { findingsOfQueue } from '../findings.ts';
import { canAskFor, client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Blocked, Tile } from '../parts/facts.tsx';
import { Moment } from '../parts/inline.tsx';
import { LatestTasks } from '../parts/latest-tasks.tsx';
import { Empty, isProblem, Problem, ReadState, ViewHead } from '../parts/view.tsx';
import { useRange, useTasks } from '../range.ts';
import { linkTo, workerLink } from '../route.ts';
import { count, seconds } from '../text/format.ts';
import { ENDED } from '../text/words.ts';
import { WorkerState } from '../workers/worker-parts.tsx';
import {
  isMissed,
  oldestText,
  QUEUE_COLUMNS,
  type QueueFigures,
  queueKey,
  queueRows,
  rateColumns,
  waitingText,
} from './queue-columns.tsx';

/** Every queue, the one with the oldest due task first. */
export function QueuesView() {
  const components = useResource('queues', (signal) => client.components({ signal }), { every: 10_000 });
  const stats = useTasks({});
  const read = {
    data: components.data === null ? null : { sources: stats.data?.sources ?? [] },
    error: components.error ?? stats.error,
    at: components.at,
    reload() {
      components.reload();
      stats.reload();
    },
  };
  const figures = stats.data?.stats ?? null;
  const rows = queueRows(components.data, figures);
  return (
    <>
      <ViewHead title="Queues" at={components.at} />
      <ReadState what="the queues" of={read} />
      {components.data !== null && rows.length === 0 && <Empty title="No queue seen yet" />}
      {rows.length > 0 && (
        <section class="panel">
          <DataTable columns={columnsFor(figures?.step_seconds ?? 60)} rows={rows} keyOf={queueKey} />
        </section>
      )}
    </>
  );
}

function columnsFor(stepSeconds: number): readonly Column<QueueFigures>[] {
  const { name, waiting, oldest, workers } = QUEUE_COLUMNS;
  const trend: Column<QueueFigures> = { title: 'Trend', phone: 'beside', cell: (row) => <Trend row={row} /> };
  return [name, waiting, oldest, trend, ...rateColumns(stepSeconds), workers];
}

function Trend({ row: { name, over } }: { readonly row: QueueFigures }) {
  if (over === null) return null;
  return (
    <>
      <Sparkline values={over.waiting} label={`Waiting in ${name}`} tone="waiting" />
      {over.growing_since != null && (
        <b class="tone-failure">
          {' '}
          Growing since <Moment at={over.growing_since} isShort />
        </b>
      )}
    </>
  );
}

const FEW = 5;
const LATEST = 10;
const WAITING = ['PENDING', 'RECEIVED', 'RETRY'] as const;
/** Sources may have further states of running tasks. */
const RUNNING = canAskFor('not_state') ? { not_state: [...WAITING, ...ENDED] } : { state: 'STARTED' };
/** What is so now, regardless of the page's period. */
const ANY_TIME = { range: '' };

const PARTS = [
  { title: 'Running', query: RUNNING, all: { state: 'STARTED' }, limit: FEW },
  { title: 'Still to run', query: { state: WAITING, order: 'asc' }, limit: FEW },
  { title: 'Ended', query: { state: ENDED }, limit: LATEST },
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
  const workers = useResource('workers', (signal) => client.workers({ signal }), { every: 10_000 });
  const stats = data?.stats ?? null;
  const all = workers.data?.workers ?? [];
  const own = all.filter((worker) => worker.queues?.includes(id));
  const queues = queueRows(components.data, stats)
    .filter(({ name }) => name === id)
    .map((queue) => ({ ...queue, consumers: queue.consumers ?? countConsumers(all, own) }));
  const depths = queues[0]?.over ?? null;
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
      {queues.map((queue) => (
        <Fragment key={queue.now?.source}>
          <Trouble queue={queue} findings={findingsOfQueue(components.data, queue)} />
          {!isMissed(queue) && <Blocked wait={queue.now?.blocked_by ?? null} />}
          <Figures queue={queue} stepSeconds={stats?.step_seconds ?? 60} />
        </Fragment>
      ))}
      <States queues={queues.flatMap(({ now }) => now ?? [])} />
      {data !== null && depths === null && (
        <Empty title="There is no data about this queue over time">Try a longer period.</Empty>
      )}
      {stats !== null && depths !== null && <Charts id={id} stats={stats} depths={depths} />}
      {workers.error !== null && !isProblem(workers.error, 'source_not_configured') && (
        <Problem what="workers" error={workers.error} retry={workers.reload} />
      )}
      <Workers workers={own} />
      {canAskFor('queue', 'state') && <Tasks queue={id} />}
    </>
  );
}

/** The number of workers that consume; `null`: unknown, because some do not say from which queues they do. */
function countConsumers(all: readonly WorkerBody[], consumers: readonly WorkerBody[]): number | null {
  const isKnown = all.length > 0 && all.every(({ queues }) => queues !== null);
  return isKnown ? consumers.filter(({ status }) => status !== 'offline').length : null;
}

/** What is wrong with a queue, in one line. */
function Trouble(props: { readonly queue: QueueFigures; readonly findings: readonly FindingBody[] }) {
  const { queue, findings } = props;
  const findingOf = (rule: string) => findings.find(({ code }) => code === rule);
  const since = queue.over?.growing_since ?? findingOf('queue_growing')?.since ?? null;
  if (findings.length === 0 && since === null && !isMissed(queue)) return null;
  const isCritical = isMissed(queue) || findings.some(({ severity }) => severity === 'critical');
  const facts = [
    isMissed(queue) ? `No worker consumes ${queue.name}` : null,
    findingOf('worker_stuck')?.summary ?? null,
    `${waitingText(queue)} waiting`,
  ];
  return (
    <p class={`notice tone-${isCritical ? 'failure' : 'retry'}`} role="status">
      <strong>
        {facts.filter((fact) => fact !== null).join(' · ')}
        {since !== null && (
          <>
            {' '}
            · growing since <Moment at={since} isShort />
          </>
        )}
        {since === null && queue.dueSince !== null && <> · oldest due {oldestText(queue)}</>}
      </strong>
    </p>
  );
}

/** The current depth and rates. */
function Figures({ queue, stepSeconds }: { readonly queue: QueueFigures; readonly stepSeconds: number }) {
  const { waiting, oldest, workers } = QUEUE_COLUMNS;
  const drain = queue.now?.drain;
  return (
    <dl class="flow panel tiles">
      {[waiting, oldest, ...rateColumns(stepSeconds), workers].map(({ title, cell }) => (
        <Tile key={title} name={title} value={cell(queue)} />
      ))}
      {drain != null && <Tile name="Forecast" value={<Drain drain={drain} />} />}
    </dl>
  );
}

/** When a queue will be empty. Nothing if it is. */
function Drain({ drain }: { readonly drain: DrainBody | null }) {
  return drain === null ? null : <span title={drain.reason ?? undefined}>{drainText(drain)}</span>;
}

/** `empty in about 4 min (2–7)` */
function drainText({ seconds, low, high, per_minute, reason }: DrainBody): string {
  if (reason === 'grows') return `will not drain: grows by ${count(Math.round(per_minute ?? 0))}/min`;
  if (seconds === null) return 'unknown';
  const [unit, name] = seconds < 180 ? [1, 's'] : seconds < 7_200 ? [60, 'min'] : [3_600, 'h'];
  const inUnits = (value: number | null): string => count(Math.round((value ?? seconds) / unit));
  return `empty in about ${inUnits(seconds)} ${name} (${inUnits(low)}–${inUnits(high)})`;
}

/** Number of a queue's tasks in each of the engine's own states, each with a link to them. */
function States({ queues }: { readonly queues: readonly QueueBody[] }) {
  const known = queues.filter(({ engine_states }) => engine_states !== null);
  if (known.length === 0) return null;
  return (
    <section class="panel" aria-label="States">
      <h2>States</h2>
      {known.map(({ name: queue, source, paused, engine_states }) => (
        <ul key={source} class="flow small-text states">
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

const CHART_PX = 194;
/** Of two panels over one axis, with the gap between them. */
const HALF_PX = (CHART_PX - 14) / 2;

/** Charts of the depth, of the waits if there were any, and of the messages that enter and leave. */
function Charts(props: {
  readonly id: string;
  readonly stats: TaskStatsBody;
  readonly depths: StatsQueueBody;
}) {
  const { id, stats, depths } = props;
  const { waiting, oldest_seconds: oldest, oldest_at_least: isAtLeast } = depths;
  const shared = { stats, filters: { queue: id } };
  // The counts of a step that has not ended look like an outage.
  const ended = useRange().kind === 'fixed' ? undefined : -1;
  const depth = lineOf('thick', 'waiting', waiting, { tone: 'waiting', mark: '○' });
  const age = lineOf('thick', 'oldest due', oldest, {
    unit: 'seconds',
    format: (value) => (isAtLeast && value > 0 ? `≥ ${seconds(value)}` : seconds(value)),
  });
  const flow = [
    lineOf('thin', 'in', depths.sent.slice(0, ended), { tone: 'waiting' }),
    lineOf('thick', 'out', depths.received.slice(0, ended), { tone: 'succeeded' }),
  ];
  return (
    <div class="columns even">
      <section class="panel">
        <h2>Waiting</h2>
        <TimeChart
          {...shared}
          label={`Waiting in ${id}`}
          panels={
            greatest(oldest) > 0
              ? [depth, age].map((line) => ({ height: HALF_PX, series: [line] }))
              : [{ height: CHART_PX, series: [depth] }]
          }
        />
      </section>
      <section class="panel">
        <h2>In and out</h2>
        <TimeChart
          {...shared}
          label={`In and out of ${id}`}
          isRate
          panels={[{ height: CHART_PX, series: flow }]}
        />
      </section>
    </div>
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
      {PARTS.map(({ title, query, ...part }, at) => (
        <LatestTasks
          key={title}
          title={title}
          tasks={data?.[at]?.tasks ?? []}
          total={data?.[at]?.total ?? null}
          all={linkTo('tasks', { queue, ...('all' in part ? part.all : query), ...ANY_TIME })}
          same="queue"
        />
      ))}
    </>
  );
}

function Workers({ workers }: { readonly workers: readonly WorkerBody[] }) {
  if (workers.length === 0) return null;
  return (
    <section class="panel" aria-label="Workers">
      <h2>Workers</h2>
      <ul class="counted-links">
        {workers.map((worker) => (
          <li key={`${worker.source} ${worker.hostname}`} class="line">
            <a class="wrap" href={workerLink(worker.hostname)}>
              {worker.hostname}
            </a>
            <span>
              <WorkerState worker={worker} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
