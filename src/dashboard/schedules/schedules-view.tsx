import '../style/schedules.css';
import type { ScheduleBody } from '../../client.ts';
import type { Tone } from '../charts/chart.ts';
import { Squares } from '../charts/squares.tsx';
import { clock } from '../live/clock.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Ago, Moment } from '../parts/moment.tsx';
import { Empty } from '../parts/problem.tsx';
import { ReadState } from '../parts/read-state.tsx';
import { useHeldRows } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { ViewHead } from '../parts/view-head.tsx';
import { nameLink, taskLink } from '../route.ts';
import { zone } from '../settings.ts';
import { useStore } from '../store.ts';
import { fullMoment, millis } from '../text/moments.ts';
import { counted, duration, seconds } from '../text/numbers.ts';
import { plainRule } from './plain-rule.ts';

const keyOf = ({ source, id }: ScheduleBody): string => `${source} ${id}`;

/** Lists the periodic schedules. */
export function SchedulesView() {
  const resource = useResource('schedules', (signal) => client.schedules({ signal }), {
    // Any task may be a run.
    news: ({ task_id }) => task_id !== null,
    gap: 5_000,
  });
  const { data, at } = resource;
  const { isHeld, pointer, focus } = useHold();
  const sorted = (data?.schedules ?? []).toSorted(
    (a, b) =>
      Number(isMissed(b)) - Number(isMissed(a)) || dueAt(a) - dueAt(b) || a.name.localeCompare(b.name),
  );
  const rows = useHeldRows(sorted, keyOf, isHeld);
  const hasRuns = rows.some(({ last_runs }) => last_runs !== null);
  return (
    <>
      <ViewHead title="Schedules" at={at}>
        {data?.enabled === true && <span class="dim">{counted(rows.length, 'schedule')}</span>}
      </ViewHead>
      <ReadState what="schedules" of={resource} />
      {data !== null && !data.enabled && (
        <Empty title="No schedule source">
          Add one to <code>sources</code> in <code>createMonitorRouter</code> to see periodic tasks and their
          next runs.
        </Empty>
      )}
      {data?.enabled === true && rows.length === 0 && (
        <Empty title="No schedules">Schedules of Celery beat and of BullMQ job schedulers appear here.</Empty>
      )}
      {rows.length > 0 && (
        <div class="panel table-scroll" {...pointer} {...focus}>
          <table class="schedules">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Schedule</th>
                <th scope="col">Next</th>
                <th scope="col">Last</th>
                {hasRuns && <th scope="col">Last 20 runs</th>}
                <th scope="col">Missed</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <Row
                  key={keyOf(row)}
                  row={row}
                  hasRuns={hasRuns}
                  isOneOfSeveral={data?.sources.length !== 1}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

const dueAt = ({ next_run_at, enabled }: ScheduleBody): number =>
  enabled === false ? Number.MAX_VALUE : (millis(next_run_at) ?? Number.MAX_VALUE);

/** Normal delay of beat and of the reader of its schedule, in milliseconds. */
const LATE = 60_000;

const isMissed = (row: ScheduleBody): boolean => dueAt(row) <= Date.now() - LATE;

function Row(props: {
  readonly row: ScheduleBody;
  readonly isOneOfSeveral: boolean;
  /** Whether the runs of any schedule are known. */
  readonly hasRuns: boolean;
}) {
  const { row, isOneOfSeveral, hasRuns } = props;
  const call = [row.args, row.kwargs]
    .filter((text) => text !== null && !/^(?:\(\)|\[\]|\{\})$/.test(text))
    .join(' ');
  return (
    <tr class={row.enabled === false ? 'dim' : undefined}>
      <th scope="row">
        <div class="wrap">{row.name}</div>
        {row.task !== null && (
          <a class="small-text" href={nameLink(row.task)}>
            {row.task}
          </a>
        )}
        {call !== '' && <div class="mono dim one-line">{call}</div>}
        <div class="dim small-text">
          {[isOneOfSeveral ? row.source : null, row.queue === null ? null : `queue ${row.queue}`]
            .filter(Boolean)
            .join(' · ')}
        </div>
      </th>
      <td class="s-every" title={row.schedule ?? undefined}>
        {row.schedule === null ? <span class="dim">unreadable</span> : plainRule(row.schedule)}
        {row.timezone !== null && <span class="dim small-text"> {row.timezone}</span>}
      </td>
      <td class="s-next">{row.enabled === false ? 'disabled or finished' : <Next row={row} />}</td>
      <td class="s-last">
        <Ago at={row.last_run_at} missing="none seen" />
        {row.total_run_count !== null && (
          <div class="dim small-text">{counted(row.total_run_count, 'run')}</div>
        )}
      </td>
      {hasRuns && (
        <td class="s-runs">
          <Runs row={row} />
        </td>
      )}
      <td class="s-missed">
        <Missed row={row} />
      </td>
    </tr>
  );
}

const TONES: Readonly<Record<string, Tone>> = {
  SUCCESS: 'succeeded',
  FAILURE: 'failed',
  RETRY: 'retried',
  PENDING: 'waiting',
  RECEIVED: 'waiting',
  REVOKED: 'cancelled',
  REJECTED: 'cancelled',
};

/** The outcomes of the latest runs, each with a link to its task, the latest one at the end. */
function Runs({ row: { name, last_runs: runs, source } }: { readonly row: ScheduleBody }) {
  const chosen = useStore(zone);
  if (runs === null) return <span class="dim">unknown</span>;
  if (runs.length === 0) return <span class="dim">none yet</span>;
  const outcomes = runs.toReversed().map(({ task_id, state, at, runtime }) => ({
    key: task_id,
    tone: state === null ? ('waiting' as const) : (TONES[state] ?? ('running' as const)),
    label: [state ?? 'unknown', fullMoment(new Date(at), chosen), runtime === null ? null : seconds(runtime)]
      .filter((text) => text !== null)
      .join(', '),
    link: taskLink(task_id, source),
  }));
  return <Squares label={`Latest runs of ${name}`} outcomes={outcomes} />;
}

function Next({ row: { next_run_at: at, timezone } }: { readonly row: ScheduleBody }) {
  const now = useStore(clock);
  const due = millis(at);
  if (due === null || at === null) return <span class="dim">unknown</span>;
  const left = Math.round((due - now) / 1_000) * 1_000;
  return (
    <>
      {left > 0 && <b>{`in ${duration(left).replace('.0', '')}`}</b>}
      {left <= 0 && left > -LATE && <b>now</b>}
      <div class="dim small-text">
        <Moment at={at} />
        <InZone at={at} timezone={timezone} />
      </div>
    </>
  );
}

function Missed({ row }: { readonly row: ScheduleBody }) {
  const now = useStore(clock);
  const late = now - dueAt(row);
  if (late < LATE) return <span class="dim">–</span>;
  return <b class="tone-failure">{`missed by ${duration(Math.round(late / 1_000) * 1_000)}`}</b>;
}

/** The same time in the time zone of the schedule. */
function InZone({ at, timezone }: { readonly at: string; readonly timezone: string | null }) {
  const mine = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (timezone === null || timezone === mine) return null;
  try {
    const text = new Intl.DateTimeFormat('en-GB', {
      timeZone: timezone,
      hour: '2-digit',
      minute: '2-digit',
    }).format(new Date(at));
    return <span>{` · ${text} ${timezone}`}</span>;
  } catch {
    // This browser does not know the zone.
    return null;
  }
}
