import { useState } from 'preact/hooks';
import type { StatsNameBody } from '../../client.ts';
import { Change, ratioOf } from '../parts/change.tsx';
import { Name } from '../parts/name.tsx';
import { useHeldValue } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { linkTo, nameLink } from '../route.ts';
import { count, percent, seconds } from '../text/numbers.ts';

/** A name with its figures in the period before; `null`: it had none, or they are not known yet. */
interface Row {
  readonly now: StatsNameBody;
  readonly before: StatsNameBody | null;
}

const ORDERS = {
  change: { text: 'Changed most', of: ({ now, before }: Row) => changeOf(now, before) },
  count: { text: 'Busiest', of: ({ now }: Row) => now.count },
  failed: { text: 'Most failing', of: ({ now }: Row) => now.failed },
  slow: { text: 'Slowest', of: ({ now }: Row) => now.runtime_p95 ?? -1 },
} as const;
type OrderName = keyof typeof ORDERS;

const MOST_SHOWN = 8;

/** By what factor the p95 of the run time differs, up or down; 0 where it cannot be compared. */
function changeOf(now: StatsNameBody, before: StatsNameBody | null): number {
  const ratio = ratioOf(now.runtime_p95, before?.runtime_p95);
  return ratio === null || ratio === 0 ? 0 : Math.max(ratio, 1 / ratio);
}

/** Statistics per task name, those first whose run time differs most from the period before. */
export function Names(props: {
  readonly names: readonly StatsNameBody[];
  /** Those of the period before; `null`: not known. */
  readonly before: readonly StatsNameBody[] | null;
  /** Parameters of the links to the tasks. */
  readonly period: Readonly<Record<string, string>>;
}) {
  const { names, before, period } = props;
  const [order, setOrder] = useState<OrderName>('change');
  const { isHeld, pointer, focus } = useHold();
  const all = names.map((now) => ({ now, before: before?.find(({ name }) => name === now.name) ?? null }));
  const sorted = all.toSorted(
    (a, b) => ORDERS[order].of(b) - ORDERS[order].of(a) || b.now.count - a.now.count,
  );
  const first = sorted.slice(0, MOST_SHOWN).map(({ now }) => now.name);
  // Under the pointer the figures change and the rows stay.
  const held = useHeldValue({ order, first }, isHeld);
  const rows = (held.order === order ? held.first : first).flatMap(
    (name) => all.find(({ now }) => now.name === name) ?? [],
  );
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>Names</h2>
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
        <NamesMore total={names.length} />
      </div>
      <div class="table-scroll" {...pointer} {...focus}>
        <table class="named">
          <NamesHead />
          <tbody>
            {rows.map((row) => (
              <NameRow key={row.now.name} row={row} period={period} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function NamesMore({ total }: { readonly total: number }) {
  if (total <= MOST_SHOWN) return null;
  return (
    <span class="panel-more dim">
      {MOST_SHOWN} of {count(total)}
    </span>
  );
}

function NamesHead() {
  return (
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col" class="num extra">
          Tasks
        </th>
        <th scope="col" class="num">
          Failed
        </th>
        <th scope="col" class="num extra" title="Half of the runs took at most this long">
          Run p50
        </th>
        <th scope="col" class="num" title="95 of 100 ran at most this long">
          Run p95
        </th>
        <th scope="col" class="num" title="Run p95 beside that of the period before">
          Change
        </th>
        <th scope="col" class="num extra" title="95 of 100 waited at most this long">
          Wait p95
        </th>
      </tr>
    </thead>
  );
}

function NameRow(props: { readonly row: Row; readonly period: Readonly<Record<string, string>> }) {
  const { row, period } = props;
  const { now, before } = row;
  return (
    <tr>
      <th scope="row">
        <a href={nameLink(now.name)}>
          <Name text={now.name} />
        </a>
      </th>
      <td class="num extra">{count(now.count)}</td>
      <td class="num">
        {now.failed === 0 ? (
          <span class="dim">0</span>
        ) : (
          <a class="tone-failure" href={linkTo('failures', { name: now.name, ...period })}>
            {count(now.failed)} ({percent(now.failed, now.count)})
          </a>
        )}
      </td>
      <td class="num extra">{seconds(now.runtime_p50)}</td>
      <td class="num">{seconds(now.runtime_p95)}</td>
      <td class="num">
        <Change now={now.runtime_p95} before={before?.runtime_p95 ?? null} text={seconds} />
      </td>
      <td class="num extra">{seconds(now.wait_p95)}</td>
    </tr>
  );
}
