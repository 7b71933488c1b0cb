import type { ComponentChildren } from 'preact';
import type { StatsNameBody } from '../../client.ts';
import { Change, ratioOf } from '../parts/change.tsx';
import { Name } from '../parts/name.tsx';
import { useHeldValue } from '../parts/use-held.ts';
import { linkTo, nameLink } from '../route.ts';
import { count, percent, seconds } from '../text/numbers.ts';

/** A name with its figures in the previous period; `null`: it had none, or they are not loaded yet. */
export interface NameFigures {
  readonly now: StatsNameBody;
  readonly before: StatsNameBody | null;
}

/** The sort orders of names, each with the greatest first. */
export const NAME_ORDERS = {
  change: { text: 'Changed most', of: changeOf },
  count: { text: 'Busiest', of: ({ now }: NameFigures) => now.count },
  failed: { text: 'Most failing', of: ({ now }: NameFigures) => now.failed },
  rate: { text: 'Failure rate', of: ({ now }: NameFigures) => now.failed / Math.max(1, now.count) },
  slow: { text: 'Slowest', of: ({ now }: NameFigures) => now.runtime_p95 ?? -1 },
} as const;
export type NameOrder = keyof typeof NAME_ORDERS;

/** With fewer runs, the 95th percentile is a single run, which may be chance. */
const ENOUGH_RUNS = 20;

/** Factor by which the p95 of the run time differs, up or down, less with few runs; 0 without a comparison. */
function changeOf({ now, before }: NameFigures): number {
  const ratio = ratioOf(now.runtime_p95, before?.runtime_p95);
  if (ratio === null || ratio === 0 || before === null) return 0;
  return Math.max(ratio, 1 / ratio) * Math.min(1, now.count / ENOUGH_RUNS, before.count / ENOUGH_RUNS);
}

/** Sorted names, each with its figures in the previous period. @param before `null`: unknown */
export function sortedNames(
  names: readonly StatsNameBody[],
  before: readonly StatsNameBody[] | null,
  order: NameOrder,
): readonly NameFigures[] {
  const earlier = new Map(before?.map((figures) => [figures.name, figures]));
  const { of } = NAME_ORDERS[order];
  return names
    .map((now) => ({ now, before: earlier.get(now.name) ?? null }))
    .toSorted((a, b) => of(b) - of(a) || b.now.count - a.now.count);
}

/** The rows to show: while they are held, the previous rows in their order, with their latest figures. */
export function useHeldNames(
  sorted: readonly NameFigures[],
  order: NameOrder,
  isHeld: boolean,
  most: number,
): readonly NameFigures[] {
  const first = sorted.slice(0, most).map(({ now }) => now.name);
  const held = useHeldValue({ order, first }, isHeld);
  return (held.order === order ? held.first : first).flatMap(
    (name) => sorted.find(({ now }) => now.name === name) ?? [],
  );
}

/** Statistics per task name. */
export function NamesTable(props: {
  readonly rows: readonly NameFigures[];
  /** Whether each figure is compared with the previous period; the run time always is. */
  readonly isCompared: boolean;
  /** Parameters of the links to the failures. */
  readonly period: Readonly<Record<string, string>>;
  /** Writes a duration. */
  readonly timeText: (value: number | null) => string;
  /** The order of the rows, and the link that sorts by another. Default: the heads do not sort. */
  readonly order?: NameOrder;
  readonly sortLink?: (order: NameOrder) => string;
}) {
  const { rows, isCompared, period, timeText, order, sortLink } = props;
  const heads = { order, sortLink };
  return (
    <table class="named">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <Head {...heads} by="count" isExtra text="Tasks" />
          <Head {...heads} by="rate" text="Failed" />
          <Head {...heads} isExtra text="Run p50" title="Half of the runs took at most this long" />
          <Head {...heads} by="slow" text="Run p95" title="95 of 100 runs took at most this long" />
          <Head {...heads} by="change" text="Change" title="Run p95 compared with the previous period" />
          <Head {...heads} isExtra text="Wait p95" title="95 of 100 tasks waited at most this long" />
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Row key={row.now.name} row={row} isCompared={isCompared} period={period} timeText={timeText} />
        ))}
      </tbody>
    </table>
  );
}

function Head(props: {
  readonly text: string;
  readonly title?: string;
  readonly isExtra?: boolean;
  readonly by?: NameOrder;
  readonly order: NameOrder | undefined;
  readonly sortLink: ((order: NameOrder) => string) | undefined;
}) {
  const { text, title, isExtra = false, by, order, sortLink } = props;
  const isSorted = sortLink !== undefined && by === order;
  const shown: ComponentChildren =
    by === undefined || sortLink === undefined ? (
      text
    ) : (
      <a class="sort" href={sortLink(by)}>
        {text}
        <span aria-hidden="true">{isSorted ? ' ↓' : ''}</span>
      </a>
    );
  return (
    <th
      scope="col"
      class={isExtra ? 'num extra' : 'num'}
      title={title}
      aria-sort={isSorted ? 'descending' : undefined}
    >
      {shown}
    </th>
  );
}

function Row(props: {
  readonly row: NameFigures;
  readonly isCompared: boolean;
  readonly period: Readonly<Record<string, string>>;
  readonly timeText: (value: number | null) => string;
}) {
  const { row, isCompared, period, timeText } = props;
  const { now, before } = row;
  const change = (figure: 'count' | 'failed' | 'wait_p95', text: (value: number) => string) =>
    isCompared && (
      <Change
        now={now[figure]}
        before={before?.[figure] ?? null}
        text={text}
        isCount={figure !== 'wait_p95'}
      />
    );
  return (
    <tr>
      <th scope="row">
        <a href={nameLink(now.name)}>
          <Name text={now.name} />
        </a>
      </th>
      <td class="num extra">
        {count(now.count)}
        {change('count', count)}
      </td>
      <td class="num">
        {now.failed === 0 ? (
          <span class="dim">0</span>
        ) : (
          <a class="tone-failure" href={linkTo('failures', { name: now.name, ...period })}>
            {count(now.failed)} ({percent(now.failed, now.count)})
          </a>
        )}
        {change('failed', count)}
      </td>
      <td class="num extra">{timeText(now.runtime_p50)}</td>
      <td class="num">{timeText(now.runtime_p95)}</td>
      <td class="num">
        <Change now={now.runtime_p95} before={before?.runtime_p95 ?? null} text={seconds} />
      </td>
      <td class="num extra">
        {timeText(now.wait_p95)}
        {change('wait_p95', seconds)}
      </td>
    </tr>
  );
}
