import type { StatsNameBody } from '../../client.ts';
import { Change, ratioOf } from '../parts/change.tsx';
import { type Column, DataTable, type Order } from '../parts/data-table.tsx';
import { Name } from '../parts/name.tsx';
import { linkTo, nameLink } from '../route.ts';
import { count, percent, seconds } from '../text/numbers.ts';

/** A name with its figures in the previous period; `null`: it had none, or they are not loaded yet. */
export interface NameFigures {
  readonly now: StatsNameBody;
  readonly before: StatsNameBody | null;
}

/** With fewer runs, the 95th percentile is a single run, which may be chance. */
const ENOUGH_RUNS = 20;

/** Factor by which the p95 of the run time differs, up or down, less with few runs; 0 without a comparison. */
function changeOf({ now, before }: NameFigures): number {
  const ratio = ratioOf(now.runtime_p95, before?.runtime_p95);
  if (ratio === null || ratio === 0 || before === null) return 0;
  return Math.max(ratio, 1 / ratio) * Math.min(1, now.count / ENOUGH_RUNS, before.count / ENOUGH_RUNS);
}

const greatest =
  (of: (figures: NameFigures) => number) =>
  (a: NameFigures, b: NameFigures): number =>
    of(b) - of(a) || b.now.count - a.now.count;

/** The orders of names. */
export const NAME_ORDERS = {
  count: greatest(({ now }) => now.count),
  change: greatest(changeOf),
  failed: greatest(({ now }) => now.failed),
  rate: greatest(({ now }) => now.failed / Math.max(1, now.count)),
  slow: greatest(({ now }) => now.runtime_p95 ?? -1),
} as const;

/** Statistics per task name. */
export function NamesTable(props: {
  readonly names: readonly StatsNameBody[];
  /** Names of the previous period; `null`: unknown. */
  readonly before: readonly StatsNameBody[] | null;
  /** Most names to show. Default: all. */
  readonly most?: number;
  /** Whether each figure is compared with the previous period; the run time always is. */
  readonly isCompared: boolean;
  /** Parameters of the links to the failures. */
  readonly period: Readonly<Record<string, string>>;
  /** Writes a duration. */
  readonly timeText: (value: number | null) => string;
  readonly order: Order<NameFigures>;
}) {
  const { names, before, most, order } = props;
  const earlier = new Map(before?.map((figures) => [figures.name, figures]));
  return (
    <DataTable
      class="named"
      columns={columnsFor(props)}
      rows={names.map((now) => ({ now, before: earlier.get(now.name) ?? null }))}
      keyOf={({ now }) => now.name}
      order={order}
      most={most}
    />
  );
}

function columnsFor(
  props: Pick<Parameters<typeof NamesTable>[0], 'isCompared' | 'period' | 'timeText'>,
): readonly Column<NameFigures>[] {
  const { isCompared, period, timeText } = props;
  const change = (
    { now, before }: NameFigures,
    figure: 'count' | 'failed' | 'wait_p95',
    text: (value: number) => string,
  ) =>
    isCompared && (
      <Change
        now={now[figure]}
        before={before?.[figure] ?? null}
        text={text}
        isCount={figure !== 'wait_p95'}
      />
    );
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
      cell: (row) => (
        <>
          {count(row.now.count)}
          {change(row, 'count', count)}
        </>
      ),
    },
    {
      title: 'Failed',
      isNumber: true,
      order: 'rate',
      cell: (row) => (
        <>
          <Failed figures={row.now} period={period} />
          {change(row, 'failed', count)}
        </>
      ),
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
      cell: (row) => (
        <>
          {timeText(row.now.wait_p95)}
          {change(row, 'wait_p95', seconds)}
        </>
      ),
    },
  ];
}

function Failed(props: {
  readonly figures: StatsNameBody;
  readonly period: Readonly<Record<string, string>>;
}) {
  const { name, count: all, failed } = props.figures;
  if (failed === 0) return <span class="dim">0</span>;
  return (
    <a class="tone-failure" href={linkTo('failures', { name, ...props.period })}>
      {count(failed)} ({percent(failed, all)})
    </a>
  );
}
