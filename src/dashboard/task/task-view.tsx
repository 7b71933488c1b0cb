import '../style/task.css';
import { useEffect } from 'preact/hooks';
import type { TaskBody, TaskDetailBody, TaskLinkBody, TaskProgressBody } from '../../client.ts';
import { canAskFor } from '../abilities.ts';
import { Traceback } from '../failures/traceback.tsx';
import { client } from '../live/connection.ts';
import { historyStart, loadHistoryStart } from '../live/history-start.ts';
import { useResource } from '../live/use-resource.ts';
import { Sources } from '../parts/age.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Moment } from '../parts/moment.tsx';
import { Empty, isProblem, Loading, Problem } from '../parts/problem.tsx';
import { Flags, StateBadge } from '../parts/state-badge.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { causeLink, linkTo, nameLink, taskLink, workflowLink } from '../route.ts';
import { useStore } from '../store.ts';
import { curlOf } from '../tasks/export.ts';
import { count, counted } from '../text/numbers.ts';
import { Facts } from './facts.tsx';
import { Flow } from './flow.tsx';
import { LifeBars } from './life-bars.tsx';
import { TaskTabs } from './task-tabs.tsx';

/** The page of one task. */
export function TaskView({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  // Name of the source whose task was requested; `null` for any source.
  const source = query.get('source');
  const { data, error, at, reload } = useResource(id, (signal) => client.task(id, { signal }), {
    news: (event) => event.task_id === id,
    gap: 500,
  });
  if (data === null) {
    return (
      <>
        <ViewHead title="Task" />
        {error === null && <Loading />}
        {error !== null && !isProblem(error, 'task_not_found') && (
          <Problem what="the task" error={error} retry={reload} />
        )}
        {isProblem(error, 'task_not_found') && <UnknownTask id={id} />}
      </>
    );
  }
  return (
    <article class="task">
      <ViewHead title={data.name ?? 'Task with unknown name'} at={at}>
        {data.name !== null && canAskFor('name') && (
          <a class="button small" href={nameLink(data.name)}>
            About this name
          </a>
        )}
        <a class="button small" href={workflowLink(id)}>
          Workflow
        </a>
        <CopyButton label="Copy as curl" text={() => curlOf(`api/tasks/${encodeURIComponent(id)}/`)} />
      </ViewHead>
      <div class="task-state">
        <StateBadge state={data.state} engineState={data.engine_state} />
        <Flags flags={data.flags} />
      </div>
      {error !== null && <Problem what="the task" error={error} retry={reload} />}
      <Sources sources={data.sources} />
      {source !== null && source !== data.source && (
        <p class="notice tone-retry" role="status">
          {`The sources ${data.source} and ${source} both have a task with this ID. This one is from ${data.source}.`}
        </p>
      )}
      {(data.exception !== null || data.traceback !== null) && (
        <Traceback
          exception={data.exception}
          text={data.traceback}
          isCut={data.truncated.includes('traceback')}
          missing="The engine reported none."
        />
      )}
      {data.state === 'FAILURE' && <Story task={data} />}
      <LifeBars task={data} />
      {data.progress !== null && <ProgressBar progress={data.progress} />}
      <div class="columns">
        <div class="column-main">
          <TaskTabs task={data} />
        </div>
        <div class="column-side">
          <section class="panel">
            <h2>Workflow</h2>
            <Flow task={data} />
          </section>
          <Links links={data.links} />
          <section class="panel">
            <h2>Details</h2>
            <Facts task={data} />
          </section>
        </div>
      </div>
    </article>
  );
}

/** The host's links to other tools. */
function Links({ links }: { readonly links: readonly TaskLinkBody[] }) {
  if (links.length === 0) return null;
  return (
    <section class="panel">
      <h2>Links</h2>
      <ul class="task-links">
        {links.map(({ text, url }, index) => (
          <li key={index}>
            <a class="wrap" href={url} rel="noreferrer">
              {text}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

const MOST_FAILED = 100;

/** Where the failure of a task comes from, and what it has prevented. */
function Story({ task }: { readonly task: TaskDetailBody }) {
  const root = task.root_id ?? task.task_id;
  const failed = useResource(
    root,
    async (signal) =>
      canAskFor('root_id', 'state')
        ? await client.tasks({ root_id: root, state: 'FAILURE', limit: MOST_FAILED }, { signal })
        : null,
    { news: (event) => event.task_id !== null, gap: 2_000, keep: true },
  );
  const tasks = failed.data?.tasks ?? [];
  const first = isConsequence(task) ? tasks.find((other) => !isConsequence(other)) : undefined;
  const unrun = tasks.filter((other) => isConsequence(other) && other.task_id !== task.task_id).length;
  return (
    <p class="task-story">
      {first !== undefined && (
        <span>
          Consequence of <a href={taskLink(first.task_id)}>{first.name ?? first.task_id} ›</a>
        </span>
      )}
      {task.cause !== null && canAskFor('cause') && (
        <a href={causeLink(task.cause)}>All failures of this cause ›</a>
      )}
      {unrun > 0 && <a href={workflowLink(task.task_id)}>{`${counted(unrun, 'step')} never ran ›`}</a>}
    </p>
  );
}

const isConsequence = ({ flags }: TaskBody): boolean => flags.includes('consequence');

/** The progress of a task, as it reports it. */
function ProgressBar({ progress }: { readonly progress: TaskProgressBody }) {
  const { current, total, percent, text } = progress;
  const steps =
    current === null ? null : total === null ? count(current) : `${count(current)} of ${count(total)}`;
  const share = percent === null ? null : `${Math.floor(percent)} %`;
  return (
    <div class="task-progress">
      {percent !== null && <progress max={100} value={percent} aria-label="Progress" />}
      <span>
        {[share, steps].filter((part) => part !== null).join(' · ')}
        {text !== null && <span class="dim wrap"> {text}</span>}
      </span>
    </div>
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
