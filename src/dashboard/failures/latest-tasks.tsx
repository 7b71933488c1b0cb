import type { TaskBody } from '../../client.ts';
import { Ago } from '../parts/moment.tsx';
import { Name } from '../parts/name.tsx';
import { linkTo, taskLink } from '../route.ts';
import { count, seconds } from '../text/numbers.ts';

/** The latest tasks of a cause. */
export function LatestTasks(props: {
  readonly tasks: readonly TaskBody[];
  readonly total: number | null;
  readonly cause: string;
}) {
  const { tasks, total, cause } = props;
  if (tasks.length === 0) return null;
  return (
    <section class="panel latest">
      <h2>Latest tasks</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">Error</th>
            <th scope="col" class="num extra">
              Run
            </th>
            <th scope="col" class="extra">
              Worker
            </th>
            <th scope="col" class="num">
              Failed
            </th>
          </tr>
        </thead>
        <tbody>
          {tasks.map(({ task_id, source, name, exception, runtime, worker, finished, timestamp }) => (
            <tr key={`${source} ${task_id}`}>
              <th scope="row">
                <a href={taskLink(task_id, source)}>
                  <Name text={name ?? task_id} />
                </a>
              </th>
              <td class="latest-error mono">{exception}</td>
              <td class="num extra">{seconds(runtime)}</td>
              <td class="extra">{worker ?? '–'}</td>
              <td class="num">
                <Ago at={finished ?? timestamp} isShort />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {(total === null || total > tasks.length) && (
        <p>
          <a href={linkTo('tasks', { cause })}>All {total === null ? '' : count(total)} tasks ›</a>
        </p>
      )}
    </section>
  );
}
