import type { ComponentChildren } from 'preact';
import type { ComponentsBody } from '../../client.ts';
import type { QueueBody, StatsQueueBody, TaskStatsBody } from '../../wire.ts';
import { clock } from '../live/pace.ts';
import type { Column } from '../parts/data-table.tsx';
import { Name, rounded } from '../parts/inline.tsx';
import { queueLink } from '../route.ts';
import { useStore } from '../store.ts';
import { count, countOrDash, millis } from '../text/format.ts';

/** One queue: its current state, and its figures over time. Either may be unknown. */
export interface QueueFigures {
  readonly name: string;
  readonly now: QueueBody | null;
  readonly over: StatsQueueBody | null;
  /** Number of workers that consume; `null`: unknown. */
  readonly consumers: number | null;
  /** When its oldest due task became due, in milliseconds since 1970; `null`: none is due, or unknown. */
  readonly dueSince: number | null;
}

/** Distinguishes queues of several sources. */
export const queueKey = ({ now, name }: QueueFigures): string => `${now?.source} ${name}`;

/** The number of waiting tasks; `null`: unknown. */
export const waitingOf = ({ now, over }: Readings): number | null => now?.waiting ?? lastOf(over?.waiting);

/** The last known value; `null` if there is none. */
const lastOf = (values: readonly (number | null)[] | undefined): number | null =>
  values?.findLast((value) => value !== null) ?? null;

/** The depths of queues over time. */
type StatsOverTime = Pick<TaskStatsBody, 'series' | 'step_seconds'> & {
  readonly queue_depths?: readonly StatsQueueBody[] | undefined;
};

/** Every queue that is listed now or in the statistics: those with the oldest due tasks first. */
export function queueRows(
  components: ComponentsBody | null,
  stats: StatsOverTime | null,
): readonly QueueFigures[] {
  const queues = components?.queues?.queues ?? [];
  const over = new Map((stats?.queue_depths ?? []).map((depths) => [depths.queue, depths]));
  const known = new Set(queues.map(({ name }) => name));
  const gone = [...over.keys()].filter((name) => !known.has(name));
  const rowOf = (name: string, now: QueueBody | null): QueueFigures => {
    const figures = { now, over: over.get(name) ?? null };
    return { name, ...figures, consumers: now?.consumers ?? null, dueSince: dueSinceOf(figures, stats) };
  };
  const rows = [...queues.map((now) => rowOf(now.name, now)), ...gone.map((name) => rowOf(name, null))];
  return rows.sort((a, b) => dueOf(a) - dueOf(b) || (waitingOf(b) ?? -1) - (waitingOf(a) ?? -1));
}

const dueOf = ({ dueSince }: QueueFigures): number => dueSince ?? Number.MAX_VALUE;

type Readings = Pick<QueueFigures, 'now' | 'over'>;

/** From the current age, or the last observed one: what was due then still is, if anything waits. */
function dueSinceOf({ now, over }: Readings, stats: StatsOverTime | null): number | null {
  if (now?.oldest_due_seconds != null) {
    return (millis(now.as_of) ?? Date.now()) - now.oldest_due_seconds * 1_000;
  }
  const age = lastOf(over?.oldest_seconds);
  if (over === null || stats === null || age === null || waitingOf({ now, over }) === 0) return null;
  const start = Date.parse(stats.series[over.oldest_seconds.lastIndexOf(age)]?.t ?? '');
  return Math.min(Date.now(), start + stats.step_seconds * 1_000) - age * 1_000;
}

/** How long the oldest due task has been due. */
export const oldestText = (queue: QueueFigures): ComponentChildren =>
  queue.dueSince === null ? '–' : <DueFor queue={queue} since={queue.dueSince} />;

function DueFor({ queue: { now, over }, since }: { readonly queue: QueueFigures; readonly since: number }) {
  const time = useStore(clock);
  const isAtLeast = now?.oldest_due_seconds == null && over?.oldest_at_least === true;
  return <>{`${isAtLeast ? '≥ ' : ''}${rounded(Math.max(0, time - since))}`}</>;
}

/** The number of waiting tasks in words. */
export const waitingText = (queue: QueueFigures): string => countOrDash(waitingOf(queue));

const RATE_SECONDS = 300;

/**
 * The average per minute over the last five minutes, or the last step if it is longer; a dash if it is unknown. The
 * step that has not ended does not count, unless there is no other.
 */
function rateText(counts: readonly (number | null)[] | undefined, stepSeconds: number): string {
  const ended = counts === undefined || counts.length < 2 ? (counts ?? []) : counts.slice(0, -1);
  const last = ended.slice(-Math.ceil(RATE_SECONDS / stepSeconds));
  const known = last.filter((value) => value !== null);
  if (known.length === 0) return '–';
  const perMinute = (known.reduce((sum, value) => sum + value, 0) / known.length / stepSeconds) * 60;
  return perMinute > 0 && perMinute < 10 ? perMinute.toFixed(1) : count(Math.round(perMinute));
}

/** Whether tasks wait, and no worker consumes. */
export const isMissed = (queue: QueueFigures): boolean =>
  queue.consumers === 0 && (waitingOf(queue) ?? 0) > 0;

/** The number of workers that consume: none is a problem if tasks wait. */
const consumersText = (queue: QueueFigures): ComponentChildren =>
  isMissed(queue) ? <b class="tone-failure">none</b> : countOrDash(queue.consumers);

/** The columns of every table of queues. */
export const QUEUE_COLUMNS = {
  name: {
    title: 'Queue',
    isHead: true,
    isWide: true,
    cell: ({ name }) => (
      <a href={queueLink(name)}>
        <Name text={name} />
      </a>
    ),
  },
  waiting: { title: 'Waiting', isNumber: true, phone: 'labelled', cell: waitingText },
  oldest: {
    title: 'Oldest due',
    isNumber: true,
    phone: 'labelled',
    cell: (queue) => waitingOf(queue) !== 0 && oldestText(queue),
  },
  workers: { title: 'Workers', isNumber: true, phone: 'labelled', cell: consumersText },
} as const satisfies Readonly<Record<string, Column<QueueFigures>>>;

/** How many tasks enter a queue and leave it per minute. */
export function rateColumns(stepSeconds: number): readonly Column<QueueFigures>[] {
  const rate = (title: string, figure: 'sent' | 'received'): Column<QueueFigures> => ({
    title,
    hint: 'In the last five minutes',
    isNumber: true,
    phone: 'labelled',
    cell: ({ over }) => rateText(over?.[figure], stepSeconds),
  });
  return [rate('In/min', 'sent'), rate('Out/min', 'received')];
}
