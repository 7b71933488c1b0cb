import '../style/counted-links.css';
import '../style/tiles.css';
import type { StatsQueueBody, TaskStatsBody } from '../../client.ts';
import { canAskFor } from '../abilities.ts';
import { LineChart } from '../charts/line-chart.tsx';
import { QueueChart } from '../charts/queue-chart.tsx';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Moment } from '../parts/moment.tsx';
import { Empty } from '../parts/problem.tsx';
import { ReadState } from '../parts/read-state.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { useRange } from '../range/use-range.ts';
import { go, linkHere, linkTo } from '../route.ts';
import { QueueStates } from './queue-states.tsx';
import { Consumers, oldestText, type QueueFigures, waitingText } from './queue-table.tsx';
import { QueueTasks, QueueWorkers } from './queue-tasks.tsx';
import { rateText } from './rate-text.ts';

/** One queue over time: its depth, its waits, and the messages that enter and leave. */
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
      <ReadState what="this queue" of={resource} />
      {depths?.growing_since != null && (
        <p class="tone-failure">
          Growing since <Moment at={depths.growing_since} />
        </p>
      )}
      <Figures name={id} over={depths} stepSeconds={stats?.step_seconds ?? 60} />
      <QueueStates queue={id} />
      {data !== null && depths === null && (
        <Empty title="There is no data about this queue over time">Try a longer period.</Empty>
      )}
      {stats !== null && depths !== null && <Charts id={id} stats={stats} depths={depths} />}
      <QueueWorkers queue={id} />
      <QueueTasks queue={id} />
    </>
  );
}

/** The current depth and rates. */
function Figures(props: {
  readonly name: string;
  readonly over: StatsQueueBody | null;
  readonly stepSeconds: number;
}) {
  const { name, over, stepSeconds } = props;
  const { data } = useResource('queues', (signal) => client.components({ signal }), { every: 10_000 });
  const known = (data?.queues?.queues ?? []).filter((queue) => queue.name === name);
  const queues: readonly QueueFigures[] =
    known.length === 0 ? [{ name, now: null, over }] : known.map((now) => ({ name, now, over }));
  return (
    <>
      {queues.map((queue) => (
        <dl key={queue.now?.source} class="panel tiles">
          {[
            ['Waiting', waitingText(queue)] as const,
            ['Oldest due', oldestText(queue)] as const,
            ['In/min', rateText(over?.sent, stepSeconds)] as const,
            ['Out/min', rateText(over?.received, stepSeconds)] as const,
          ].map(([label, text]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd class="num">{text}</dd>
            </div>
          ))}
          <div>
            <dt>Workers</dt>
            <dd class="num">
              <Consumers queue={queue} />
            </dd>
          </div>
        </dl>
      ))}
    </>
  );
}

/** Charts of the depth, the waits, and the messages that enter and leave. */
function Charts(props: {
  readonly id: string;
  readonly stats: TaskStatsBody;
  readonly depths: StatsQueueBody;
}) {
  const { id, stats, depths } = props;
  const shared = {
    times: stats.series.map(({ t }) => t),
    stepSeconds: stats.step_seconds,
    markers: stats.markers,
    filters: { queue: id },
    onRange: (from: string, to: string) => go(linkHere({ from, to, range: null })),
  };
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
