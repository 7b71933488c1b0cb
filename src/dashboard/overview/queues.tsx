import type { ComponentsBody } from '../../client.ts';
import { useHeldRows } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { linkTo } from '../route.ts';
import { count, duration } from '../text/numbers.ts';

const shown = (value: number | null): string => (value === null ? '–' : count(value));

interface QueueKey {
  readonly source: string;
  readonly name: string;
}

const keyOf = ({ source, name }: QueueKey): string => `${source} ${name}`;

const MOST_SHOWN = 5;

/** The queues in which tasks are due for longest, then those in which most wait. */
export function Queues({ components }: { readonly components: ComponentsBody | null }) {
  const { isHeld, pointer, focus } = useHold();
  const all = components?.queues?.queues ?? [];
  const sorted = all.toSorted(
    (a, b) =>
      (b.oldest_due_seconds ?? 0) - (a.oldest_due_seconds ?? 0) || (b.waiting ?? 0) - (a.waiting ?? 0),
  );
  const queues = useHeldRows(sorted.slice(0, MOST_SHOWN), keyOf, isHeld).slice(0, MOST_SHOWN);
  if (queues.length === 0) return null;
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>Queues</h2>
        {all.length > MOST_SHOWN && (
          <span class="panel-more dim">
            {MOST_SHOWN} of {count(all.length)}
          </span>
        )}
      </div>
      <div class="table-scroll" {...pointer} {...focus}>
        <table>
          <thead>
            <tr>
              <th scope="col">Queue</th>
              <th scope="col" class="num">
                Waiting
              </th>
              <th scope="col" class="num">
                Oldest due
              </th>
              <th scope="col" class="num">
                Workers
              </th>
            </tr>
          </thead>
          <tbody>
            {queues.map(({ name, source, waiting, oldest_due_seconds, consumers }) => (
              <tr key={keyOf({ name, source })}>
                <th scope="row">
                  <a href={linkTo(`queues/${encodeURIComponent(name)}`)}>{name}</a>
                </th>
                <td class="num">{shown(waiting)}</td>
                <td class="num">
                  {oldest_due_seconds === null ? '–' : duration(oldest_due_seconds * 1_000)}
                </td>
                <td class="num">
                  {consumers === 0 && (waiting ?? 0) > 0 ? (
                    <b class="tone-failure">none</b>
                  ) : (
                    shown(consumers)
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
