import type { ComponentsBody } from '../../client.ts';
import { Moment } from '../parts/moment.tsx';
import { linkTo } from '../route.ts';
import { counted } from '../text/numbers.ts';

/** Shows how far back the data reaches and what has been evicted. */
export function History({ components }: { readonly components: ComponentsBody | null }) {
  const config = components?.history?.config ?? null;
  const figure = (name: string): number | null => {
    const value = config?.[name];
    return typeof value === 'number' ? value : null;
  };
  const [tasks, evicted, dropped] = [figure('tasks'), figure('evicted'), figure('dropped')];
  if (config === null || tasks === null) return null;
  const since = config.since;
  return (
    <p class="history dim">
      <a href={linkTo('system')}>History</a>: {counted(tasks, 'task')}
      {typeof since === 'string' && (
        <>
          {' '}
          since <Moment at={since} />
        </>
      )}
      {evicted !== null && (evicted > 0 ? `, ${counted(evicted, 'older task')} evicted` : ', none evicted')}
      {dropped !== null && dropped > 0 && `, ${counted(dropped, 'message')} could not be read`}.
    </p>
  );
}
