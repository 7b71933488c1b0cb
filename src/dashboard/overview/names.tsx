import { useState } from 'preact/hooks';
import type { StatsNameBody } from '../../client.ts';
import { Name } from '../parts/name.tsx';
import { useHeldValue } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { linkTo } from '../route.ts';
import { count, percent, seconds } from '../text/numbers.ts';

const ORDERS = {
  count: { text: 'Busiest', of: (row: StatsNameBody) => row.count },
  failed: { text: 'Most failing', of: (row: StatsNameBody) => row.failed },
  slow: { text: 'Slowest', of: (row: StatsNameBody) => row.runtime_p95 ?? -1 },
  wait: { text: 'Longest waits', of: (row: StatsNameBody) => row.wait_p95 ?? -1 },
} as const;
type OrderName = keyof typeof ORDERS;

const MOST_SHOWN = 12;

/** Statistics per task name. */
export function Names({
  names,
  period,
}: {
  readonly names: readonly StatsNameBody[];
  /** Parameters of the links to the tasks. */
  readonly period: Readonly<Record<string, string>>;
}) {
  const [order, setOrder] = useState<OrderName>('count');
  const { isHeld, pointer, focus } = useHold();
  const sorted = names.toSorted((a, b) => ORDERS[order].of(b) - ORDERS[order].of(a));
  const first = sorted.slice(0, MOST_SHOWN).map(({ name }) => name);
  // Under the pointer the figures change and the rows stay.
  const held = useHeldValue({ order, first }, isHeld);
  const rows = (held.order === order ? held.first : first).flatMap(
    (name) => names.find((row) => row.name === name) ?? [],
  );
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>Task names</h2>
        {(Object.keys(ORDERS) as OrderName[]).map((name) => (
          <button
            key={name}
            type="button"
            class="chip"
            aria-pressed={name === order}
            onClick={() => setOrder(name)}
          >
            {ORDERS[name].text}
          </button>
        ))}
      </div>
      <div class="table-scroll" {...pointer} {...focus}>
        <table class="named">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" class="num">
                Tasks
              </th>
              <th scope="col" class="num">
                Failed
              </th>
              <th scope="col" class="num extra" title="Half of the runs took at most this long">
                Ran, median
              </th>
              <th scope="col" class="num" title="95 of 100 ran at most this long">
                Ran, p95
              </th>
              <th scope="col" class="num extra">
                Waited, median
              </th>
              <th scope="col" class="num extra">
                Waited, p95
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <th scope="row">
                  <a href={linkTo(`names/${encodeURIComponent(row.name)}`)}>
                    <Name text={row.name} />
                  </a>
                </th>
                <td class="num">{count(row.count)}</td>
                <td class="num">
                  {row.failed === 0 ? (
                    <span class="dim">0</span>
                  ) : (
                    <a
                      class="tone-failure"
                      href={linkTo('tasks', { name: row.name, state: 'FAILURE', ...period })}
                    >
                      {count(row.failed)} ({percent(row.failed, row.count)})
                    </a>
                  )}
                </td>
                <td class="num extra">{seconds(row.runtime_p50)}</td>
                <td class="num">{seconds(row.runtime_p95)}</td>
                <td class="num extra">{seconds(row.wait_p50)}</td>
                <td class="num extra">{seconds(row.wait_p95)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
