import type { StatsCallerBody, StatsStepBody, StatsTotalsBody, TaskStatsBody } from '../../wire.ts';
import { lineOf, type Series } from '../charts/chart.ts';
import { Histogram } from '../charts/histogram.tsx';
import { ThroughputChart } from '../charts/throughput-chart.tsx';
import { TimeChart } from '../charts/time-chart.tsx';
import { TopCauses } from '../failures/causes.tsx';
import { orderIn } from '../parts/data-table.tsx';
import { CountedLinks, Tile } from '../parts/facts.tsx';
import { Change, Moment } from '../parts/inline.tsx';
import { LatestTasks } from '../parts/latest-tasks.tsx';
import { Empty, NoStats, ReadState, ViewHead } from '../parts/view.tsx';
import { comparable, usePrevious, useRange, useTasks } from '../range.ts';
import { linkTo, nameLink } from '../route.ts';
import { count, countOrDash, percent, secondsOf } from '../text/format.ts';
import { NAME_ORDERS, NamesTable } from './names-table.tsx';

/** Maximum number of names in the API. */
const MOST_NAMES = 50;

/** Every task name of the period, compared with the previous period. */
export function NamesView({ query }: { readonly query: URLSearchParams }) {
  const resource = useTasks({});
  const { data, at } = resource;
  const before = usePrevious({});
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

const LATEST = 10;
const TOP_CAUSES = 5;
/** As many causes of the previous period as the API returns: other causes may have been the most frequent. */
const MOST_CAUSES = 1_000;

const CHART_PX = 120;

const TILES = [
  ['Succeeded', 'succeeded'],
  ['Failed', 'failed'],
  ['Retried', 'retried'],
  ['Run p50', 'runtime_p50'],
  ['Run p95', 'runtime_p95'],
  ['Run p99', 'runtime_p99'],
  ['Wait p95', 'wait_p95'],
] as const satisfies readonly (readonly [label: string, figure: keyof StatsTotalsBody])[];

/** One task name over time, compared with the previous period: its runs, its failures, and its callers. */
export function NameView({ id }: { readonly id: string }) {
  const range = useRange();
  const filters = { name: id };
  const resource = useTasks({
    limit: LATEST,
    filters,
    stats: { stats_percentiles: true, stats_callers: true, stats_causes: TOP_CAUSES },
  });
  const { data, at } = resource;
  const before = usePrevious({ filters, stats: { stats_percentiles: true, stats_causes: MOST_CAUSES } });
  const stats = data?.stats ?? null;
  const statsBefore = comparable(before?.stats);
  const all = linkTo('tasks', { name: id, ...range.link });
  return (
    <>
      <ViewHead title={id} at={at}>
        <a class="button small" href={linkTo('names')}>
          All names
        </a>
        <a class="button small" href={all}>
          Tasks of this name
        </a>
      </ViewHead>
      <ReadState what="this name" shape="charts" of={resource} />
      {data !== null && stats === null && <NoStats />}
      {stats !== null && (
        <>
          <Figures stats={stats} before={before === null ? undefined : statsBefore} />
          <Durations id={id} of="runtime" stats={stats} before={statsBefore} />
          <div class="columns even">
            <section class="panel">
              <h2>Throughput</h2>
              <ThroughputChart
                label={`Tasks of ${id}`}
                filters={{ name: id }}
                stats={stats}
                before={statsBefore?.totals ?? null}
                height={CHART_PX}
              />
            </section>
            <Durations id={id} of="wait" stats={stats} before={statsBefore} />
          </div>
          <div class="columns even">
            <TopCauses stats={stats} before={statsBefore} filters={{ name: id }} />
            <section class="panel beside" aria-label="Callers">
              <Callers title="Called by" callers={stats.callers} none="No task with a known name sends it." />
              <Callers title="Calls" callers={stats.callees} none="It sends no tasks with a known name." />
            </section>
          </div>
        </>
      )}
      {data !== null && <LatestTasks tasks={data.tasks} total={data.total} all={all} same="name" />}
    </>
  );
}

type Duration = 'runtime' | 'wait';
type Counted = 'succeeded' | 'failed' | 'retried';

const isCounted = (figure: string): figure is Counted => /^(?:succeeded|failed|retried)$/.test(figure);

/** What is known of the steps, of which some are unknown: a count of 0 says nothing then. */
function atLeast({ series }: TaskStatsBody, figure: Counted): string {
  const known = series.reduce((sum, step) => sum + (step[figure] ?? 0), 0);
  return known === 0 ? '–' : `≥ ${count(known)}`;
}

function Figures(props: {
  readonly stats: TaskStatsBody;
  /** The previous period; `null`: unknown, `undefined`: no comparison. */
  readonly before: TaskStatsBody | null | undefined;
}) {
  const { stats, before } = props;
  const { since, succeeded, failed } = stats.totals;
  const timeText = secondsOf(stats);
  const textOf = (figure: keyof StatsTotalsBody) => (isCounted(figure) ? countOrDash : timeText);
  const isPart = since !== stats.series[0]?.t;
  return (
    <section class="panel" aria-label="Figures">
      {isPart && (
        <p class="dim">
          Not all of this period is known{since !== null && ', but all of it since '}
          {since !== null && <Moment at={since} />}.
        </p>
      )}
      <dl class="flow tiles">
        {TILES.map(([label, figure]) => (
          <Tile
            key={figure}
            name={label}
            value={
              <>
                {isPart && isCounted(figure) ? atLeast(stats, figure) : textOf(figure)(stats.totals[figure])}
                {!isPart && figure === 'failed' && succeeded !== null && failed !== null && failed > 0 && (
                  <span class="dim"> ({percent(failed, failed + succeeded)})</span>
                )}
                {before !== undefined && (
                  <Change
                    now={isPart && isCounted(figure) ? null : stats.totals[figure]}
                    before={before?.totals[figure] ?? null}
                    text={textOf(figure)}
                    isCount={isCounted(figure)}
                  />
                )}
              </>
            }
          />
        ))}
      </dl>
    </section>
  );
}

/** The senders of these tasks, or the tasks that they send. */
function Callers(props: {
  readonly title: string;
  /** Nothing if unknown. */
  readonly callers: readonly StatsCallerBody[] | null | undefined;
  readonly none: string;
}) {
  const { title, callers, none } = props;
  const items = (callers ?? []).map(({ name, count: sent }) => ({
    text: name,
    count: sent,
    link: nameLink(name),
  }));
  return (
    <div>
      <CountedLinks title={title} items={items} none={callers ? none : 'Unknown for this period.'} />
    </div>
  );
}

/** The period, and the previous one; `null`: no comparison, or unknown. */
interface Periods {
  readonly stats: TaskStatsBody;
  readonly before: TaskStatsBody | null;
}

const TITLES = { runtime: 'Run time', wait: 'Wait' } as const;

/** How long tasks of a name ran, or waited. */
function Durations({ id, of, stats, before }: Periods & { readonly id: string; readonly of: Duration }) {
  const { [of]: title } = TITLES;
  const classes = stats[`${of}_histogram`] ?? [];
  return (
    <section class="panel">
      <h2>{title}</h2>
      <div class="beside">
        <TimeChart
          label={`${title} of ${id}`}
          filters={{ name: id }}
          stats={stats}
          panels={[{ height: CHART_PX, series: durationLines(of, { stats, before }) }]}
        />
        {classes.length > 0 && <Histogram label={`${title}s of ${id}`} classes={classes} height={CHART_PX} />}
      </div>
    </section>
  );
}

/** The percentiles, and the 95th of the previous period. */
function durationLines(of: Duration, { stats, before }: Periods): readonly Series[] {
  const unit = 'seconds';
  const now = [
    lineOf('thin', 'p99', valuesOf(stats, `${of}_p99`), { unit, tone: 'waiting' }),
    lineOf('thick', 'p95', valuesOf(stats, `${of}_p95`), { unit }),
    lineOf('thin', 'p50', valuesOf(stats, `${of}_p50`), { unit }),
  ];
  if (before === null) return now;
  return [...now, lineOf('dashed', 'p95 before', valuesBefore(stats, before, `${of}_p95`), { unit })];
}

type Figure = Exclude<keyof StatsStepBody, 't'>;

/** A figure of each step of a period. */
const valuesOf = (stats: TaskStatsBody, figure: Figure): readonly (number | null)[] =>
  stats.series.map((step) => step[figure] ?? null);

/**
 * The same figure in the previous period, for each step of this one. The last steps of both are aligned.
 *
 * @returns unknown values if the steps differ in length
 */
function valuesBefore(now: TaskStatsBody, before: TaskStatsBody, figure: Figure): readonly (number | null)[] {
  const offset = before.series.length - now.series.length;
  const isSame = before.step_seconds === now.step_seconds;
  return now.series.map((_, step) => (isSame ? (before.series[step + offset]?.[figure] ?? null) : null));
}
