import { Sparkline } from '../charts/sparkline.tsx';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Moment } from '../parts/inline.tsx';
import { Empty, ReadState, ViewHead } from '../parts/view.tsx';
import { useRange } from '../range.ts';
import { QUEUE_COLUMNS, type QueueFigures, queueKey, queueRows, rateColumns } from './queue-columns.tsx';

/** Every queue, the one with the oldest due task first. */
export function QueuesView() {
  const range = useRange();
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
