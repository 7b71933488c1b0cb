import { LineChart } from '../charts/line-chart.tsx';
import { QueueChart } from '../charts/queue-chart.tsx';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Moment } from '../parts/moment.tsx';
import { Empty, Problem } from '../parts/problem.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { useRange } from '../range/use-range.ts';
import { go, linkHere, linkTo } from '../route.ts';
import { QueueStates } from './queue-states.tsx';

/** One queue over time: how much waits and for how long, and what comes in against what goes out. */
export function QueueView({ id }: { readonly id: string }) {
  const range = useRange();
  const { data, error, at, reload } = useResource(
    `${range.key} ${id}`,
    (signal) => client.tasks({ limit: 0, queue: id, ...range.stats() }, { signal }),
    { keep: true, every: 10_000 },
  );
  const stats = data?.stats ?? null;
  const depths = stats?.queue_depths?.find(({ queue }) => queue === id) ?? null;
  const shared = stats && {
    times: stats.series.map(({ t }) => t),
    stepSeconds: stats.step_seconds,
    markers: stats.markers,
    filters: { queue: id },
    onRange: (from: string, to: string) => go(linkHere({ from, to, range: null })),
  };
  return (
    <>
      <ViewHead title={id} at={at}>
        <a href={linkTo('tasks', { queue: id })}>Tasks of this queue</a>
      </ViewHead>
      {error !== null && <Problem error={error} retry={reload} />}
      {depths?.growing_since != null && (
        <p class="tone-failure">
          Growing since <Moment at={depths.growing_since} />
        </p>
      )}
      <QueueStates queue={id} />
      {data !== null && depths === null && (
        <Empty title="Nothing is known of this queue over time">Try a longer period.</Empty>
      )}
      {shared !== null && depths !== null && (
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
      )}
    </>
  );
}
