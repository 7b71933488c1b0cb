import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { orderIn } from '../parts/data-table.tsx';
import { Empty, NoStats, ReadState, ViewHead } from '../parts/view.tsx';
import { comparable, usePrevious, useRange } from '../range.ts';
import { NAME_ORDERS, NamesTable } from './names-table.tsx';

/** Maximum number of names in the API. */
const MOST_NAMES = 50;

/** Every task name of the period, compared with the previous period. */
export function NamesView({ query }: { readonly query: URLSearchParams }) {
  const range = useRange();
  const resource = useResource(
    range.key,
    (signal) => client.tasks({ limit: 0, ...range.stats() }, { signal }),
    { keep: true, every: 10_000 },
  );
  const { data, at } = resource;
  const before = usePrevious('names', async (window, signal) =>
    client.tasks({ limit: 0, ...window }, { signal }),
  );
  const stats = data?.stats;
  const names = stats?.names ?? [];
  return (
    <>
      <ViewHead title="Names" at={at} />
      <ReadState what="the names" of={resource} />
      {stats === null && <NoStats />}
      {stats != null && names.length === 0 && <Empty title="No task with a name changed in this period." />}
      {stats != null && names.length > 0 && (
        <section class="panel" aria-label="Names">
          <NamesTable
            stats={stats}
            before={comparable(before?.stats)?.names ?? null}
            order={orderIn(query, NAME_ORDERS)}
          />
        </section>
      )}
      {names.length >= MOST_NAMES && (
        <p class="dim" role="status">
          These are the {MOST_NAMES} most frequent names. To find tasks with other names, search for name:…
        </p>
      )}
    </>
  );
}
