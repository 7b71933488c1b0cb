import { useEffect } from 'preact/hooks';
import { historyStart, loadHistoryStart } from '../live/history-start.ts';
import { Moment } from '../parts/moment.tsx';
import { Empty } from '../parts/problem.tsx';
import { linkTo } from '../route.ts';
import { useStore } from '../store.ts';

/** Says that a task is not kept, and how far back the history reaches. */
export function UnknownTask({ id }: { readonly id: string }) {
  const { at } = useStore(historyStart);
  useEffect(() => void loadHistoryStart(), []);
  return (
    <Empty title="No task with this ID is in the history.">
      <p class="mono wrap">{id}</p>
      <p>
        {at !== null && (
          <span>
            History starts <Moment at={new Date(at).toISOString()} />.{' '}
          </span>
        )}
        <a href={linkTo('tasks', { q: id })}>Search for this ID</a>
      </p>
    </Empty>
  );
}
