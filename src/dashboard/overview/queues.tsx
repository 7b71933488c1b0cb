import type { ComponentsBody } from '../../client.ts';
import { useHeldRows } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { byOldestDue, QueueTable, queueKey } from '../queues/queue-table.tsx';
import { linkTo } from '../route.ts';
import { count } from '../text/numbers.ts';

const MOST_SHOWN = 5;

/** The queues in which tasks are due for longest, then those in which most wait. */
export function Queues({ components }: { readonly components: ComponentsBody | null }) {
  const { isHeld, pointer, focus } = useHold();
  const all = (components?.queues?.queues ?? []).map((now) => ({ name: now.name, now, over: null }));
  const sorted = all.toSorted(byOldestDue).slice(0, MOST_SHOWN);
  const rows = useHeldRows(sorted, queueKey, isHeld).slice(0, MOST_SHOWN);
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
        <QueueTable rows={rows} />
      </div>
    </section>
  );
}
