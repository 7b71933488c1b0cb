import type { ComponentsBody, TaskStatsBody } from '../../client.ts';
import { useHeldRows } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { byOldestDue, QueueTable, queueKey } from '../queues/queue-table.tsx';
import { linkTo } from '../route.ts';
import { count } from '../text/numbers.ts';

const MOST_SHOWN = 5;

/** The queues with the oldest due tasks, then those with the most waiting tasks. */
export function Queues(props: {
  readonly components: ComponentsBody | null;
  /** The previous period; `null`: no comparison, or unknown. */
  readonly before: TaskStatsBody | null;
}) {
  const { components, before } = props;
  const { isHeld, pointer, focus } = useHold();
  const all = (components?.queues?.queues ?? []).map((now) => ({ name: now.name, now, over: null }));
  const sorted = all.toSorted(byOldestDue).slice(0, MOST_SHOWN);
  const rows = useHeldRows(sorted, queueKey, isHeld).slice(0, MOST_SHOWN);
  // The previous depth is known only for all queues of a name together.
  const depths = before?.queue_depths?.filter(
    ({ queue }) => all.filter(({ name }) => name === queue).length === 1,
  );
  if (rows.length === 0) return null;
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>Queues</h2>
        <a class="panel-more" href={linkTo('queues')}>
          All {count(all.length)} ›
        </a>
      </div>
      <div class="table-scroll" {...pointer} {...focus}>
        <QueueTable rows={rows} before={depths} />
      </div>
    </section>
  );
}
