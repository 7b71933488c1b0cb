import type { ComponentChildren } from 'preact';
import type { QueueBody, StatsQueueBody } from '../../client.ts';
import { Change } from '../parts/change.tsx';
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

const waitingOf = ({ now, over }: QueueFigures): number | null => now?.waiting ?? lastOf(over?.waiting);

/** The current age; if the engine does not report it, the last observed one, if anything waits. */
function oldestOf(queue: QueueFigures): number | null {
  const { now, over } = queue;
  return now?.oldest_due_seconds ?? (waitingOf(queue) === 0 ? null : lastOf(over?.oldest_seconds));
}

const lastOf = (values: readonly (number | null)[] | undefined): number | null =>
  values?.findLast((value) => value !== null) ?? null;

/** Queues with the oldest due tasks first, then those with the most waiting tasks. */
export const byOldestDue = (a: QueueFigures, b: QueueFigures): number =>
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

/** The number of workers that consume from a queue: none is a problem if tasks wait. */
export function Consumers({ queue }: { readonly queue: QueueFigures }) {
  const consumers = queue.now?.consumers ?? null;
  const isMissed = consumers === 0 && (waitingOf(queue) ?? 0) > 0;
  return isMissed ? <b class="tone-failure">none</b> : <span>{shown(consumers)}</span>;
}

/** Queues in their current state. */
export function QueueTable(props: {
  readonly rows: readonly QueueFigures[];
  /** Queues in the previous period, whose end is compared with now. Default: no comparison, or unknown. */
  readonly before?: readonly StatsQueueBody[] | undefined;
  /** Columns in addition to those of every table of queues. Default: none. */
  readonly more?: {
    readonly heads: ComponentChildren;
    readonly cells: (queue: QueueFigures) => ComponentChildren;
  };
}) {
  const { rows, before, more } = props;
  return (
    <table class={more === undefined ? undefined : 'stacked'}>
      <thead>
        <tr>
          <th scope="col">Queue</th>
          <th scope="col" class="num">
            Waiting
          </th>
          <th scope="col" class="num">
            Oldest due
          </th>
          {more?.heads}
          <th scope="col" class="num">
            Workers
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((queue) => (
          <tr key={queueKey(queue)}>
            <th scope="row">
              <a href={queueLink(queue.name)}>
                <Name text={queue.name} />
              </a>
            </th>
            <td class="num" data-label="Waiting">
              {waitingText(queue)}
              {before !== undefined && <WaitingChange queue={queue} before={before} />}
            </td>
            <td class="num" data-label="Oldest due">
              {oldestText(queue)}
            </td>
            {more?.cells(queue)}
            <td class="num" data-label="Workers">
              <Consumers queue={queue} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The number of waiting tasks compared with the last steps of the previous period. */
function WaitingChange(props: { readonly queue: QueueFigures; readonly before: readonly StatsQueueBody[] }) {
  const { queue, before } = props;
  const waited = lastOf(before.find((depths) => depths.queue === queue.name)?.waiting);
  return <Change now={waitingOf(queue)} before={waited} text={count} />;
}
