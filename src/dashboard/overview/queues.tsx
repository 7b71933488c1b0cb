import type { ComponentsBody } from '../../client.ts';
import { useHeldRows } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { linkTo } from '../route.ts';
import { count } from '../text/numbers.ts';

const shown = (value: number | null): string => (value === null ? '–' : count(value));

interface QueueKey {
  readonly source: string;
  readonly name: string;
}

const keyOf = ({ source, name }: QueueKey): string => `${source} ${name}`;

/** Number of waiting messages per queue. */
export function Queues({ components }: { readonly components: ComponentsBody | null }) {
  const { isHeld, pointer, focus } = useHold();
  const sorted = (components?.queues?.queues ?? []).toSorted((a, b) => (b.waiting ?? 0) - (a.waiting ?? 0));
  const queues = useHeldRows(sorted, keyOf, isHeld);
  if (queues.length === 0) return null;
  return (
    <section class="panel">
      <h2>Queues</h2>
      <div class="table-scroll" {...pointer} {...focus}>
        <table>
          <thead>
            <tr>
              <th scope="col">Queue</th>
              <th scope="col" class="num">
                Waiting
              </th>
              <th scope="col" class="num">
                Taken
              </th>
              <th scope="col" class="num">
                Workers
              </th>
            </tr>
          </thead>
          <tbody>
            {queues.map(({ name, source, waiting, reserved, consumers }) => (
              <tr key={keyOf({ name, source })}>
                <th scope="row">
                  <a href={linkTo(`queues/${encodeURIComponent(name)}`)}>{name}</a>
                </th>
                <td class="num">{shown(waiting)}</td>
                <td class="num">{shown(reserved)}</td>
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
