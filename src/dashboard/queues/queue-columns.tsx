import type { ComponentsBody, QueueBody, StatsQueueBody, TaskStatsBody } from '../../client.ts';
import type { Column } from '../parts/data-table.tsx';
import { Name } from '../parts/name.tsx';
import { queueLink } from '../route.ts';
import { count, seconds } from '../text/numbers.ts';

/** One queue: its current state, and its figures over time. Either may be unknown. */
export interface QueueFigures {
  readonly name: string;
  readonly now: QueueBody | null;
  readonly over: StatsQueueBody | null;
}

/** Distinguishes queues of several sources. */
export const queueKey = ({ now, name }: QueueFigures): string => `${now?.source} ${name}`;

const shown = (value: number | null): string => (value === null ? '–' : count(value));

/** The number of waiting tasks; `null`: unknown. */
export const waitingOf = ({ now, over }: QueueFigures): number | null =>
  now?.waiting ?? lastOf(over?.waiting);

/** The current age; if the engine does not report it, the last observed one, if anything waits. */
function oldestOf(queue: QueueFigures): number | null {
  const { now, over } = queue;
  return now?.oldest_due_seconds ?? (waitingOf(queue) === 0 ? null : lastOf(over?.oldest_seconds));
}

/** The last known value; `null` if there is none. */
export const lastOf = (values: readonly (number | null)[] | undefined): number | null =>
  values?.findLast((value) => value !== null) ?? null;

/** Every queue that is listed now or in the statistics. */
export function queueRows(
  components: ComponentsBody | null,
  stats: TaskStatsBody | null,
): readonly QueueFigures[] {
  const queues = components?.queues?.queues ?? [];
  const over = new Map((stats?.queue_depths ?? []).map((depths) => [depths.queue, depths]));
  const known = new Set(queues.map(({ name }) => name));
  const gone = [...over.values()].filter(({ queue }) => !known.has(queue));
  const rows = [
    ...queues.map((now) => ({ name: now.name, now, over: over.get(now.name) ?? null })),
    ...gone.map((depths) => ({ name: depths.queue, now: null, over: depths })),
  ];
  return rows.sort(byOldestDue);
}

/** Queues with the oldest due tasks first, then those with the most waiting tasks. */
const byOldestDue = (a: QueueFigures, b: QueueFigures): number =>
  (oldestOf(b) ?? -1) - (oldestOf(a) ?? -1) || (waitingOf(b) ?? -1) - (waitingOf(a) ?? -1);

/** The age of the oldest due task in words. */
export function oldestText(queue: QueueFigures): string {
  const { now, over } = queue;
  const oldest = oldestOf(queue);
  const isAtLeast = now?.oldest_due_seconds == null && over?.oldest_at_least === true && oldest !== null;
  return isAtLeast ? `≥ ${seconds(oldest)}` : seconds(oldest);
}

/** The number of waiting tasks. */
export const waitingText = (queue: QueueFigures): string => shown(waitingOf(queue));

const RATE_SECONDS = 300;

/**
 * The average per minute over the last five minutes, or the last step if it is longer; a dash if it is unknown. The
 * step that has not ended does not count, unless there is no other.
 */
export function rateText(counts: readonly (number | null)[] | undefined, stepSeconds: number): string {
  const ended = counts === undefined || counts.length < 2 ? (counts ?? []) : counts.slice(0, -1);
  const last = ended.slice(-Math.ceil(RATE_SECONDS / stepSeconds));
  const known = last.filter((value) => value !== null);
  if (known.length === 0) return '–';
  const perMinute = (known.reduce((sum, value) => sum + value, 0) / known.length / stepSeconds) * 60;
  return perMinute > 0 && perMinute < 10 ? perMinute.toFixed(1) : count(Math.round(perMinute));
}

/** The number of workers that consume from a queue: none is a problem if tasks wait. */
export function Consumers({ queue }: { readonly queue: QueueFigures }) {
  const consumers = queue.now?.consumers ?? null;
  const isMissed = consumers === 0 && (waitingOf(queue) ?? 0) > 0;
  return isMissed ? <b class="tone-failure">none</b> : <span>{shown(consumers)}</span>;
}

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
  workers: {
    title: 'Workers',
    isNumber: true,
    phone: 'labelled',
    cell: (queue) => <Consumers queue={queue} />,
  },
} as const satisfies Readonly<Record<string, Column<QueueFigures>>>;
