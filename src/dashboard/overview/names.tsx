import { useState } from 'preact/hooks';
import type { StatsNameBody, TaskStatsBody } from '../../client.ts';
import { NAME_ORDERS, type NameOrder, NamesTable, sortedNames, useHeldNames } from '../names/names-table.tsx';
import { useHold } from '../parts/use-hold.ts';
import { linkTo } from '../route.ts';
import { count, secondsOf } from '../text/numbers.ts';

const ORDERS = ['change', 'count', 'failed', 'slow'] as const satisfies readonly NameOrder[];

const MOST_SHOWN = 8;

/** Statistics per task name. Names whose run time differs most from the previous period come first. */
export function Names(props: {
  readonly stats: TaskStatsBody;
  /** Names of the previous period; `null`: unknown. */
  readonly before: readonly StatsNameBody[] | null;
  /** Whether each figure is compared with the previous period. */
  readonly isCompared: boolean;
  /** Parameters of the links to the tasks. */
  readonly period: Readonly<Record<string, string>>;
}) {
  const { stats, before, isCompared, period } = props;
  const { names } = stats;
  const [order, setOrder] = useState<NameOrder>('change');
  const { isHeld, pointer, focus } = useHold();
  const all = sortedNames(names, before, order);
  // While the pointer is over the rows, the figures change and the rows stay.
  const rows = useHeldNames(all, order, isHeld, MOST_SHOWN);
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>Names</h2>
        {ORDERS.map((name) => (
          <button
            key={name}
            type="button"
            class="chip"
            aria-pressed={name === order}
            onClick={() => setOrder(name)}
          >
            {NAME_ORDERS[name].text}
          </button>
        ))}
        <a class="panel-more" href={linkTo('names')}>
          All {count(names.length)} ›
        </a>
      </div>
      <div class="table-scroll" {...pointer} {...focus}>
        <NamesTable rows={rows} isCompared={isCompared} period={period} timeText={secondsOf(stats)} />
      </div>
    </section>
  );
}
