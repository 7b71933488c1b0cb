import type { ScheduleBody } from '../../client.ts';
import { clock } from '../live/clock.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Sources } from '../parts/age.tsx';
import { Ago, Moment } from '../parts/moment.tsx';
import { Empty, Loading, Problem } from '../parts/problem.tsx';
import { useHeldRows } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { ViewHead } from '../parts/view-head.tsx';
import { linkTo } from '../route.ts';
import { useStore } from '../store.ts';
import { millis } from '../text/moments.ts';
import { count, duration } from '../text/numbers.ts';

const keyOf = ({ source, id }: ScheduleBody): string => `${source} ${id}`;

/** Lists the periodic schedules. */
export function SchedulesView() {
  const { data, error, at, reload } = useResource('schedules', (signal) => client.schedules({ signal }));
  const { isHeld, pointer, focus } = useHold();
  const sorted = (data?.schedules ?? []).toSorted(
    (a, b) => dueAt(a) - dueAt(b) || a.name.localeCompare(b.name),
  );
  const rows = useHeldRows(sorted, keyOf, isHeld);
  return (
    <>
      <ViewHead title="Schedules" at={at}>
        {data?.enabled === true && <span class="dim">{`${count(rows.length)} entries`}</span>}
      </ViewHead>
      {error !== null && <Problem error={error} retry={reload} />}
      <Sources sources={data?.sources} />
      {data === null && error === null && <Loading />}
      {data !== null && !data.enabled && (
        <Empty title="No source of schedules">
          Add one to <code>sources</code> in <code>createMonitorRouter</code> to see periodic tasks and their
          next runs.
        </Empty>
      )}
      {data?.enabled === true && rows.length === 0 && (
        <Empty title="No schedules">Schedules of beat and of job schedulers appear here.</Empty>
      )}
      {rows.length > 0 && (
        <div class="panel table-scroll" {...pointer} {...focus}>
          <table class="stacked">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Schedule</th>
                <th scope="col">Next run</th>
                <th scope="col">Last run</th>
                <th scope="col" class="num">
                  Runs
                </th>
                <th scope="col">Queue</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <Row key={keyOf(row)} row={row} isOneOfSeveral={data?.sources.length !== 1} />
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

function Row({ row, isOneOfSeveral }: { readonly row: ScheduleBody; readonly isOneOfSeveral: boolean }) {
  const call = [row.args, row.kwargs]
    .filter((text) => text !== null && !/^(?:\(\)|\[\]|\{\})$/.test(text))
    .join(' ');
  return (
    <tr class={row.enabled === false ? 'dim' : undefined}>
      <th scope="row">
        <div class="wrap">{row.name}</div>
        {row.task !== null && (
          <a class="small-text" href={linkTo('tasks', { name: row.task })}>
            {row.task}
          </a>
        )}
        {call !== '' && <div class="mono dim wrap">{call}</div>}
        {isOneOfSeveral && <div class="dim small-text">{row.source}</div>}
      </th>
      <td data-label="Schedule">
        {row.schedule ?? <span class="dim">not readable</span>}
        {row.timezone !== null && <div class="dim small-text">{row.timezone}</div>}
      </td>
      <td data-label="Next run">
        {row.enabled === false ? 'disabled or finished' : <Countdown at={row.next_run_at} />}
        {row.enabled !== false && row.next_run_at !== null && (
          <div class="dim small-text">
            <Moment at={row.next_run_at} />
            <InZone at={row.next_run_at} timezone={row.timezone} />
          </div>
        )}
      </td>
      <td data-label="Last run">
        <Ago at={row.last_run_at} missing="none seen" />
      </td>
      <td class="num" data-label="Runs">
        {row.total_run_count === null ? '–' : count(row.total_run_count)}
      </td>
      <td data-label="Queue">{row.queue ?? <span class="dim">default</span>}</td>
    </tr>
  );
}

function Countdown({ at }: { readonly at: string | null }) {
  const now = useStore(clock);
  const due = millis(at);
  if (due === null) return <span class="dim">not known</span>;
  const left = Math.round((due - now) / 1_000) * 1_000;
  if (left > 0) return <b>{`in ${duration(left).replace('.0', '')}`}</b>;
  return left > -60_000 ? <b>now</b> : <b class="tone-failure">{`missed by ${duration(-left)}`}</b>;
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
