import type { TaskAttemptBody } from '../../client.ts';
import { Moment } from '../parts/moment.tsx';
import { millis } from '../text/moments.ts';
import { duration } from '../text/numbers.ts';

/** The attempts of a task that was tried more than once, each with its error. */
export function Attempts({ attempts }: { readonly attempts: readonly TaskAttemptBody[] }) {
  if (attempts.length < 2) return null;
  return (
    <section class="panel">
      <h2>Attempts</h2>
      <ol class="attempts">
        {attempts.map(({ number, started, finished, error }) => {
          const [from, to] = [millis(started), millis(finished)];
          return (
            <li key={number}>
              <b>{number}</b>
              <span>
                <Moment at={started} missing="start not known" />
                {from !== null && to !== null && <span class="dim"> {duration(to - from)}</span>}
                {error !== null && <span class="tone-failure wrap"> {error}</span>}
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
