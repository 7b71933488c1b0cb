import '../style/task.css';
import { useEffect } from 'preact/hooks';
import type { TaskDetailBody } from '../../client.ts';
import { Traceback } from '../failures/traceback.tsx';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Moment } from '../parts/inline.tsx';
import { Empty, isProblem, ReadState, ViewHead } from '../parts/view.tsx';
import { historyStart, loadHistoryStart } from '../range.ts';
import { linkTo } from '../route.ts';
import { useStore } from '../store.ts';
import { Attempts } from './attempts.tsx';
import { Details, JobLog, Timeline, Values } from './facts.tsx';
import { isAlone, NearTasks, useNear } from './near-tasks.tsx';
import { TaskHead } from './task-head.tsx';

/** The page of one task. */
export function TaskView({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  // Name of the source whose task was requested; `null` for any source.
  const source = query.get('source');
  const resource = useResource(id, (signal) => client.task(id, { signal }), {
    news: (event) => event.task_id === id,
    gap: 500,
  });
  const { data, error, at } = resource;
  const isUnknown = data === null && isProblem(error, 'task_not_found');
  return (
    <article class="task">
      <ViewHead title={data === null ? 'Task' : (data.name ?? 'Task with unknown name')} at={at} />
      {isUnknown ? <UnknownTask id={id} /> : <ReadState what="the task" shape="charts" of={resource} />}
      {data !== null && source !== null && source !== data.source && (
        <p class="notice tone-retry" role="status">
          {`The sources ${data.source} and ${source} both have a task with this ID. This one is from ${data.source}.`}
        </p>
      )}
      {data !== null && <Known key={id} task={data} />}
    </article>
  );
}

/** What is known of a task: what became of it, then its values and its workflow. */
function Known({ task }: { readonly task: TaskDetailBody }) {
  const { exception, traceback, log, truncated } = task;
  const near = useNear(task);
  const timeline = <Timeline task={task} />;
  return (
    <>
      <TaskHead task={task} workflow={near.workflow} />
      <div class="columns">
        <div class="column-side">
          <Values task={task} />
          {(exception !== null || traceback !== null) && (
            <Traceback text={traceback} isCut={truncated.includes('traceback')} />
          )}
          {log !== null && log.lines.length > 0 && <JobLog log={log} />}
          {isAlone(task) ? timeline : <NearTasks task={task} {...near} />}
        </div>
        <div class="column-side">
          <Attempts task={task} />
          {!isAlone(task) && timeline}
          <Details task={task} />
        </div>
      </div>
    </>
  );
}

/** Says that a task is not kept, and how far back the history reaches. */
function UnknownTask({ id }: { readonly id: string }) {
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
