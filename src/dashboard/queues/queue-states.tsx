import '../style/queue-states.css';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { linkTo } from '../route.ts';
import { count } from '../text/numbers.ts';

/** The counts are those of now and of all tasks, regardless of the page's period. */
const ANY_TIME = { range: '' };

/** Number of a queue's tasks in each of the engine's own states, each with a link to them. */
export function QueueStates({ queue }: { readonly queue: string }) {
  const { data } = useResource('queues', (signal) => client.components({ signal }), { every: 10_000 });
  const states = (data?.queues?.queues ?? []).filter(
    ({ name, engine_states }) => name === queue && engine_states !== null,
  );
  if (states.length === 0) return null;
  return (
    <section class="panel" aria-label="States">
      <h2>States</h2>
      {states.map(({ source, paused, engine_states }) => (
        <ul key={source} class="queue-states">
          {paused === true && (
            <li>
              <b class="tone-retry">Paused: workers receive no tasks from it</b>
            </li>
          )}
          {Object.entries(engine_states ?? {}).map(([state, tasks]) => (
            <li key={state}>
              <a href={linkTo('tasks', { queue, source, engine_state: state, ...ANY_TIME })}>{state}</a>
              <b class="num">{count(tasks)}</b>
            </li>
          ))}
        </ul>
      ))}
    </section>
  );
}
