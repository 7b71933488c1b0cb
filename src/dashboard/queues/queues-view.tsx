import type { QueueBody, StatsQueueBody, TaskStatsBody } from '../../client.ts';
import { Sparkline } from '../charts/sparkline.tsx';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Sources } from '../parts/age.tsx';
import { Moment } from '../parts/moment.tsx';
import { Name } from '../parts/name.tsx';
import { Empty, Problem } from '../parts/problem.tsx';
import { useHeldRows } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { ViewHead } from '../parts/view-head.tsx';
import { useRange } from '../range/use-range.ts';
import { linkTo } from '../route.ts';
import { count, seconds } from '../text/numbers.ts';

/** One queue: as it is now, and over time. Either may be unknown. */
interface QueueRow {
  readonly name: string;
  readonly now: QueueBody | null;
  readonly over: StatsQueueBody | null;
}

/** Every queue, the one with the oldest due task first. */
export function QueuesView() {
  const range = useRange();
  const { isHeld, pointer, focus } = useHold();
  const components = useResource('queues', (signal) => client.components({ signal }), { every: 10_000 });
  const stats = useResource(range.key, (signal) => client.tasks({ limit: 0, ...range.stats() }, { signal }), {
    keep: true,
    every: 10_000,
  });
  const figures = stats.data?.stats ?? null;
  const sorted = rowsOf(components.data?.queues?.queues ?? [], figures).toSorted(
    (a, b) => (oldestOf(b) ?? -1) - (oldestOf(a) ?? -1) || (waitingOf(b) ?? -1) - (waitingOf(a) ?? -1),
  );
  const rows = useHeldRows(sorted, ({ name, now }) => `${now?.source} ${name}`, isHeld);
  return (
    <>
      <ViewHead title="Queues" at={components.at} />
      <Sources sources={stats.data?.sources} />
      {components.error !== null && <Problem error={components.error} retry={components.reload} />}
      {stats.error !== null && <Problem error={stats.error} retry={stats.reload} />}
      {components.data !== null && rows.length === 0 && <Empty title="No queue seen yet" />}
      {rows.length > 0 && (
        <section class="panel" {...pointer} {...focus}>
          <table class="stacked">
            <thead>
              <tr>
                <th scope="col">Queue</th>
                <th scope="col" class="num">
                  Waiting
                </th>
                <th scope="col" class="num">
                  Oldest due
                </th>
                <th scope="col">Trend</th>
                <th scope="col" class="num">
                  In/min
                </th>
                <th scope="col" class="num">
                  Out/min
                </th>
                <th scope="col" class="num">
                  Workers
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <Row
                  key={`${row.now?.source} ${row.name}`}
                  row={row}
                  stepSeconds={figures?.step_seconds ?? 60}
                />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}

function Row({ row, stepSeconds }: { readonly row: QueueRow; readonly stepSeconds: number }) {
  const { name, now, over } = row;
  const [waiting, oldest, consumers] = [waitingOf(row), oldestOf(row), now?.consumers ?? null];
  const isAtLeast = now?.oldest_due_seconds == null && over?.oldest_at_least === true && oldest !== null;
  return (
    <tr>
      <th scope="row">
        <a href={linkTo(`queues/${encodeURIComponent(name)}`)}>
          <Name text={name} />
        </a>
      </th>
      <td class="num" data-label="Waiting">
        {shown(waiting)}
      </td>
      <td class="num" data-label="Oldest due">
        {isAtLeast && '≥ '}
        {seconds(oldest)}
      </td>
      <td data-label="Trend">
        {over !== null && <Sparkline values={over.waiting} label={`Waiting in ${name}`} tone="waiting" />}
        {over?.growing_since != null && (
          <b class="tone-failure">
            {' '}
            Growing since <Moment at={over.growing_since} />
          </b>
        )}
      </td>
      <td class="num" data-label="In/min">
        {rate(over?.sent, stepSeconds)}
      </td>
      <td class="num" data-label="Out/min">
        {rate(over?.received, stepSeconds)}
      </td>
      <td class="num" data-label="Workers">
        {consumers === 0 && (waiting ?? 0) > 0 ? <b class="tone-failure">none</b> : shown(consumers)}
      </td>
    </tr>
  );
}

function rowsOf(queues: readonly QueueBody[], stats: TaskStatsBody | null): QueueRow[] {
  const over = new Map((stats?.queue_depths ?? []).map((depths) => [depths.queue, depths]));
  const known = new Set(queues.map(({ name }) => name));
  const gone = [...over.values()].filter(({ queue }) => !known.has(queue));
  return [
    ...queues.map((now) => ({ name: now.name, now, over: over.get(now.name) ?? null })),
    ...gone.map((depths) => ({ name: depths.queue, now: null, over: depths })),
  ];
}

const shown = (value: number | null): string => (value === null ? '–' : count(value));

const waitingOf = ({ now, over }: QueueRow): number | null => now?.waiting ?? lastOf(over?.waiting);

/** What the queue says now; of an engine that does not say, what was last seen, if anything waits. */
function oldestOf(row: QueueRow): number | null {
  const { now, over } = row;
  return now?.oldest_due_seconds ?? (waitingOf(row) === 0 ? null : lastOf(over?.oldest_seconds));
}

const lastOf = (values: readonly (number | null)[] | undefined): number | null =>
  values?.findLast((value) => value !== null) ?? null;

/** The average of the steps in which it is known; a dash when it is known in none. */
function rate(counts: readonly (number | null)[] | undefined, stepSeconds: number): string {
  const known = (counts ?? []).filter((value) => value !== null);
  if (known.length === 0) return '–';
  const perMinute = (known.reduce((sum, value) => sum + value, 0) / known.length / stepSeconds) * 60;
  return perMinute > 0 && perMinute < 10 ? perMinute.toFixed(1) : count(Math.round(perMinute));
}
