import type { QueueBody, TaskStatsBody } from '../../client.ts';
import { Sparkline } from '../charts/sparkline.tsx';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Moment } from '../parts/moment.tsx';
import { Empty } from '../parts/problem.tsx';
import { ReadState } from '../parts/read-state.tsx';
import { useHeldRows } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { ViewHead } from '../parts/view-head.tsx';
import { useRange } from '../range/use-range.ts';
import { byOldestDue, type QueueFigures, QueueTable, queueKey } from './queue-table.tsx';
import { rateText } from './rate-text.ts';

/** Every queue, the one with the oldest due task first. */
export function QueuesView() {
  const range = useRange();
  const { isHeld, pointer, focus } = useHold();
  const components = useResource('queues', (signal) => client.components({ signal }), { every: 10_000 });
  const stats = useResource(range.key, (signal) => client.tasks({ limit: 0, ...range.stats() }, { signal }), {
    keep: true,
    every: 10_000,
  });
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
  const sorted = rowsOf(components.data?.queues?.queues ?? [], figures).toSorted(byOldestDue);
  const rows = useHeldRows(sorted, queueKey, isHeld);
  return (
    <>
      <ViewHead title="Queues" at={components.at} />
      <ReadState what="the queues" of={read} />
      {components.data !== null && rows.length === 0 && <Empty title="No queue seen yet" />}
      {rows.length > 0 && (
        <section class="panel" {...pointer} {...focus}>
          <QueueTable
            rows={rows}
            more={{
              heads: <OverTimeHeads />,
              cells: (row) => <OverTime row={row} stepSeconds={figures?.step_seconds ?? 60} />,
            }}
          />
        </section>
      )}
    </>
  );
}

function OverTimeHeads() {
  return (
    <>
      <th scope="col">Trend</th>
      <th scope="col" class="num">
        In/min
      </th>
      <th scope="col" class="num">
        Out/min
      </th>
    </>
  );
}

function OverTime({ row, stepSeconds }: { readonly row: QueueFigures; readonly stepSeconds: number }) {
  const { name, over } = row;
  return (
    <>
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
        {rateText(over?.sent, stepSeconds)}
      </td>
      <td class="num" data-label="Out/min">
        {rateText(over?.received, stepSeconds)}
      </td>
    </>
  );
}

function rowsOf(queues: readonly QueueBody[], stats: TaskStatsBody | null): QueueFigures[] {
  const over = new Map((stats?.queue_depths ?? []).map((depths) => [depths.queue, depths]));
  const known = new Set(queues.map(({ name }) => name));
  const gone = [...over.values()].filter(({ queue }) => !known.has(queue));
  return [
    ...queues.map((now) => ({ name: now.name, now, over: over.get(now.name) ?? null })),
    ...gone.map((depths) => ({ name: depths.queue, now: null, over: depths })),
  ];
}
