import '../style/schedules.css';
import type { ScheduleBody } from '../../wire.ts';
import { client } from '../live/connection.ts';
import { clock } from '../live/pace.ts';
import { useResource } from '../live/use-resource.ts';
import { zone } from '../page-state.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Ago, Moment, rounded } from '../parts/inline.tsx';
import { Empty, ReadState, ViewHead } from '../parts/view.tsx';
import { nameLink, taskLink } from '../route.ts';
import { useStore } from '../store.ts';
import { counted, fullMoment, millis, seconds } from '../text/format.ts';
import { callText, markOf, toneOf } from '../text/words.ts';

/** Lists the periodic schedules. */
export function SchedulesView() {
  const resource = useResource('schedules', (signal) => client.schedules({ signal }), {
    // Any task may be a run.
    news: ({ task_id }) => task_id !== null,
    gap: 5_000,
  });
  const { data, at } = resource;
  const rows = (data?.schedules ?? []).toSorted(
    (a, b) =>
      Number(isMissed(b)) - Number(isMissed(a)) || dueAt(a) - dueAt(b) || a.name.localeCompare(b.name),
  );
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
        <div class="panel">
          <DataTable
            class="schedules"
            columns={columnsFor(rows, data?.sources.length !== 1)}
            rows={rows}
            keyOf={({ source, id }) => `${source} ${id}`}
            rowClass={({ enabled }) => (enabled === false ? 'dim' : undefined)}
          />
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

function columnsFor(rows: readonly ScheduleBody[], isOneOfSeveral: boolean): readonly Column<ScheduleBody>[] {
  return [
    { title: 'Name', isHead: true, cell: (row) => <Named row={row} isOneOfSeveral={isOneOfSeveral} /> },
    {
      title: 'Schedule',
      class: 's-every',
      cell: ({ schedule, timezone }) => (
        <>
          {schedule === null ? (
            <span class="dim">unreadable</span>
          ) : (
            <span title={schedule}>{plainRule(schedule)}</span>
          )}
          {timezone !== null && <span class="dim small-text"> {timezone}</span>}
        </>
      ),
    },
    {
      title: 'Next',
      phone: 'beside',
      cell: (row) => (row.enabled === false ? 'disabled or finished' : <Next row={row} />),
    },
    {
      title: 'Last',
      phone: 'hidden',
      cell: ({ last_run_at, total_run_count }) => (
        <>
          <Ago at={last_run_at} missing="none seen" />
          {total_run_count !== null && <div class="dim small-text">{counted(total_run_count, 'run')}</div>}
        </>
      ),
    },
    {
      title: 'Last 20 runs',
      phone: 'end',
      cell: (row) => rows.some(({ last_runs }) => last_runs !== null) && <Runs row={row} />,
    },
    { title: 'Missed', phone: 'beside', cell: (row) => isMissed(row) && <Missed row={row} /> },
  ];
}

function Named({ row, isOneOfSeveral }: { readonly row: ScheduleBody; readonly isOneOfSeveral: boolean }) {
  const { name, task, args, kwargs, source, queue } = row;
  const call = callText(args, kwargs);
  return (
    <>
      {task === null ? (
        <span class="wrap">{name}</span>
      ) : (
        <a class="wrap" href={nameLink(task)}>
          {name}
        </a>
      )}
      <div class="dim small-text phone-hidden">{task}</div>
      {call !== '' && <div class="mono dim one-line phone-hidden">{call}</div>}
      <div class="dim small-text phone-hidden">
        {[isOneOfSeveral ? source : null, queue === null ? null : `queue ${queue}`]
          .filter(Boolean)
          .join(' · ')}
      </div>
    </>
  );
}

/** The outcomes of the latest runs, each with a link to its task, the latest at the end. A phone shows seven. */
function Runs({ row: { name, last_runs: runs, source } }: { readonly row: ScheduleBody }) {
  const chosen = useStore(zone);
  if (runs === null) return <span class="dim">unknown</span>;
  if (runs.length === 0) return <span class="dim">none yet</span>;
  return (
    <ul class="squares" aria-label={`Latest runs of ${name}`}>
      {runs.toReversed().map(({ task_id, state, at, runtime }) => {
        const tone = toneOf(state);
        const time = fullMoment(new Date(at), chosen);
        const label = [state ?? 'unknown', time, runtime === null ? [] : seconds(runtime)].flat().join(', ');
        return (
          <li key={task_id}>
            <a href={taskLink(task_id, source)} aria-label={label} title={label}>
              <i class={`square tone-${tone}`}>{markOf(tone)}</i>
            </a>
          </li>
        );
      })}
    </ul>
  );
}

function Next({ row: { next_run_at: at, timezone } }: { readonly row: ScheduleBody }) {
  const now = useStore(clock);
  const due = millis(at);
  if (due === null || at === null) return <span class="dim">unknown</span>;
  const left = Math.round((due - now) / 1_000) * 1_000;
  return (
    <>
      {left > 0 && <b>{`in ${rounded(left)}`}</b>}
      {left <= 0 && left > -LATE && <b>now</b>}
      <div class="dim small-text phone-hidden">
        <Moment at={at} />
        <InZone at={at} timezone={timezone} />
      </div>
    </>
  );
}

function Missed({ row }: { readonly row: ScheduleBody }) {
  const now = useStore(clock);
  const late = now - dueAt(row);
  if (late < LATE) return null;
  return <b class="tone-failure">{`missed by ${rounded(late)}`}</b>;
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

const DAYS = ['Sundays', 'Mondays', 'Tuesdays', 'Wednesdays', 'Thursdays', 'Fridays', 'Saturdays', 'Sundays'];
const DAY_NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** @returns the rule unchanged if it has no equivalent in plain words */
function plainRule(rule: string): string {
  const [, fields = rule, bounds = ''] =
    /^([^()]*?)(?: \(m\/h\/dM\/MY\/d\))?( \([^()]*\))?$/.exec(rule) ?? [];
  const plain = fields.startsWith('every ') ? `E${fields.slice(1)}` : cronInWords(fields);
  return plain === null ? rule : `${plain}${bounds}`;
}

function cronInWords(text: string): string | null {
  const fields = text.trim().split(/\s+/);
  // BullMQ's patterns may begin with seconds.
  if (fields.length === 6 && fields[0] === '0') fields.shift();
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
  if (fields.length !== 5 || month !== '*') return null;
  if (day === '*' && weekday === '*' && hour === '*') return minutesInWords(minute);
  const step = stepOf(hour, 24);
  if (day === '*' && weekday === '*' && step !== null && isNumber(minute)) {
    return `Every ${step} h at :${minute.padStart(2, '0')}`;
  }
  if (!isNumber(minute) || !isNumber(hour)) return null;
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  if (weekday === '*') {
    if (day === '*') return `Daily at ${time}`;
    return isNumber(day) ? `Monthly on day ${day} at ${time}` : null;
  }
  const days = day === '*' ? daysInWords(weekday) : null;
  return days === null ? null : `${days} at ${time}`;
}

function minutesInWords(minute: string): string | null {
  if (minute === '*') return 'Every minute';
  if (isNumber(minute)) return `Hourly at :${minute.padStart(2, '0')}`;
  const step = stepOf(minute, 60);
  return step === null ? null : `Every ${step} min`;
}

function daysInWords(weekday: string): string | null {
  const day = weekday.toLowerCase();
  if (day === '1-5' || day === 'mon-fri') return 'Mondays to Fridays';
  const number = DAY_NAMES.includes(day) ? DAY_NAMES.indexOf(day) : isNumber(day) ? Number(day) : -1;
  return DAYS[number] ?? null;
}

const isNumber = (text: string): boolean => /^\d{1,2}$/.test(text);

/** The step 5 of a star, a slash and 5. Only steps that divide the whole evenly are regular. */
function stepOf(field: string, whole: number): number | null {
  const step = Number(/^\*\/(\d{1,2})$/.exec(field)?.[1] ?? 0);
  return step > 1 && whole % step === 0 ? step : null;
}
