import '../style/overview-lists.css';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Empty, NoStats } from '../parts/problem.tsx';
import { ReadState } from '../parts/read-state.tsx';
import { useHold } from '../parts/use-hold.ts';
import { ViewHead } from '../parts/view-head.tsx';
import { usePrevious, useRange } from '../range/use-range.ts';
import { linkHere } from '../route.ts';
import { secondsOf } from '../text/numbers.ts';
import { comparable } from './before-values.ts';
import { NAME_ORDERS, type NameOrder, NamesTable, sortedNames, useHeldNames } from './names-table.tsx';

/** Maximum number of names in the API. */
const MOST_NAMES = 50;
/** The order that is left out of the address. */
const DEFAULT_ORDER = 'count';

const isOrder = (text: string | null): text is NameOrder => text !== null && Object.hasOwn(NAME_ORDERS, text);

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
  const asked = query.get('sort');
  const order = isOrder(asked) ? asked : DEFAULT_ORDER;
  const names = data?.stats?.names ?? [];
  const { isHeld, pointer, focus } = useHold();
  const sorted = sortedNames(names, comparable(before?.stats)?.names ?? null, order);
  const rows = useHeldNames(sorted, order, isHeld, MOST_NAMES);
  return (
    <>
      <ViewHead title="Names" at={at} />
      <ReadState what="the names" of={resource} />
      {data?.stats === null && <NoStats />}
      {data?.stats != null && names.length === 0 && (
        <Empty title="No task with a name changed in this period." />
      )}
      {rows.length > 0 && (
        <section class="panel table-scroll" aria-label="Names" {...pointer} {...focus}>
          <NamesTable
            rows={rows}
            order={order}
            isCompared={before !== null}
            period={range.isChosen ? {} : { range: '1h' }}
            timeText={secondsOf(data?.stats ?? {})}
            sortLink={(by) => linkHere({ sort: by === DEFAULT_ORDER ? null : by })}
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
