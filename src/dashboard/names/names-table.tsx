import type { ComponentChildren } from 'preact';
import type { StatsNameBody, TaskStatsBody } from '../../wire.ts';
import { type Column, DataTable, type Order } from '../parts/data-table.tsx';
import { Ago, Change, Name, ratioOf } from '../parts/inline.tsx';
import { type Range, useIsCompared, useRange } from '../range.ts';
import { linkTo, nameLink } from '../route.ts';
import { count, millis, percent, seconds, secondsOf } from '../text/format.ts';

/** What is compared of a name in the previous period. */
type EarlierName = Pick<StatsNameBody, 'name' | 'count' | 'failed' | 'runtime_p95' | 'wait_p95'>;

/** A name with its figures in the previous period; `null`: it had none, or they are not loaded yet. */
interface NameFigures {
  readonly now: StatsNameBody;
  readonly before: EarlierName | null;
}

/** With fewer runs, the 95th percentile is a single run, which may be chance. */
const ENOUGH_RUNS = 20;

/** Factor by which the p95 of the run time differs, up or down, less with few runs; 0 without a comparison. */
function changeOf({ now, before }: NameFigures): number {
  const ratio = ratioOf(now.runtime_p95, before?.runtime_p95);
  if (ratio === null || ratio === 0 || before === null) return 0;
  const runs = Math.min(now.count ?? 0, before.count ?? 0);
  return Math.max(ratio, 1 / ratio) * Math.min(1, runs / ENOUGH_RUNS);
}

const greatest =
  (of: (figures: NameFigures) => number) =>
  (a: NameFigures, b: NameFigures): number =>
    of(b) - of(a) || atLeast(b.now) - atLeast(a.now);

/** How many tasks of a name are known. */
const atLeast = ({ count, failed }: StatsNameBody): number => count ?? failed;

/** The orders of names. */
export const NAME_ORDERS = {
  count: greatest(({ now }) => atLeast(now)),
  change: greatest(changeOf),
  failed: greatest(({ now }) => now.failed),
  rate: greatest(({ now }) => now.failed / Math.max(1, now.count ?? Number.POSITIVE_INFINITY)),
  last: greatest(({ now }) => millis(now.last_failed_at) ?? -1),
  slow: greatest(({ now }) => now.runtime_p95 ?? -1),
} as const;

/** The cell of a figure, with its change if it is compared. */
const cellOf =
  (
    isCompared: boolean,
    figure: 'count' | 'failed' | 'wait_p95',
    text: (value: number) => string,
    shown: (now: StatsNameBody) => ComponentChildren,
  ) =>
  ({ now, before }: NameFigures) => (
    <>
      {isCompared && (
        <Change
          now={now[figure]}
          before={before?.[figure] ?? null}
          text={text}
          isCount={figure !== 'wait_p95'}
        />
      )}
      {shown(now)}
    </>
  );

/** Statistics per task name. */
export function NamesTable(props: {
  readonly stats: Pick<TaskStatsBody, 'names' | 'computed_from'>;
  /** Names of the previous period; `null`: unknown. */
  readonly before: readonly EarlierName[] | null;
  /** Most names to show, without what only the view of all names has. Default: all. */
  readonly most?: number;
  readonly order: Order<NameFigures>;
}) {
  const { stats, before, most, order } = props;
  const { link } = useRange();
  // The run time always is.
  const isCompared = useIsCompared();
  const earlier = new Map(before?.map((figures) => [figures.name, figures]));
  return (
    <DataTable
      class="named"
      columns={columnsFor(secondsOf(stats), isCompared, link).filter(
        ({ order: by }) => by !== 'last' || most === undefined,
      )}
      rows={stats.names.map((now) => ({ now, before: earlier.get(now.name) ?? null }))}
      keyOf={({ now }) => now.name}
      order={order}
      most={most}
    />
  );
}

/** @param timeText writes a duration @param period parameters of the links to the failures */
function columnsFor(
  timeText: (value: number | null) => string,
  isCompared: boolean,
  period: Range['link'],
): readonly Column<NameFigures>[] {
  return [
    {
      title: 'Name',
      isHead: true,
      isWide: true,
      cell: ({ now: { name } }) => (
        <a href={nameLink(name)}>
          <Name text={name} />
        </a>
      ),
    },
    {
      title: 'Tasks',
      isNumber: true,
      phone: 'hidden',
      order: 'count',
      cell: cellOf(isCompared, 'count', count, (now) => (now.count === null ? '–' : count(now.count))),
    },
    {
      title: 'Failed',
      isNumber: true,
      phone: 'labelled',
      order: 'rate',
      cell: cellOf(isCompared, 'failed', count, (now) => <Failed figures={now} period={period} />),
    },
    {
      title: 'Last failure',
      isNumber: true,
      isRare: true,
      phone: 'labelled',
      class: 'phone-beside',
      order: 'last',
      cell: ({ now: { failed, last_failed_at } }) => failed > 0 && <Ago at={last_failed_at} isShort />,
    },
    {
      title: 'Run p50',
      hint: 'Half of the runs took at most this long',
      isNumber: true,
      phone: 'hidden',
      cell: ({ now }) => timeText(now.runtime_p50),
    },
    {
      title: 'Run p95',
      hint: '95 of 100 runs took at most this long',
      isNumber: true,
      phone: 'labelled',
      order: 'slow',
      cell: ({ now }) => timeText(now.runtime_p95),
    },
    {
      title: 'Change',
      hint: 'Run p95 compared with the previous period',
      isNumber: true,
      order: 'change',
      cell: ({ now, before }) => (
        <Change now={now.runtime_p95} before={before?.runtime_p95 ?? null} text={seconds} />
      ),
    },
    {
      title: 'Wait p95',
      hint: '95 of 100 tasks waited at most this long',
      isNumber: true,
      phone: 'hidden',
      cell: cellOf(isCompared, 'wait_p95', seconds, (now) => timeText(now.wait_p95)),
    },
  ];
}

function Failed(props: { readonly figures: StatsNameBody; readonly period: Range['link'] }) {
  const { name, count: all, failed } = props.figures;
  if (failed === 0) return <span class="dim">0</span>;
  return (
    <a class="tone-failure" href={linkTo('failures', { name, ...props.period })}>
      {count(failed)}
      {all !== null && ` (${percent(failed, all)})`}
    </a>
  );
}
