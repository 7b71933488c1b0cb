import '../style/task.css';
import type { TaskLinkBody } from '../../client.ts';
import { canAskFor } from '../abilities.ts';
import { Traceback } from '../failures/traceback.tsx';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Sources } from '../parts/age.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { isProblem, Loading, Problem } from '../parts/problem.tsx';
import { Flags, StateBadge } from '../parts/state-badge.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { nameLink, workflowLink } from '../route.ts';
import { curlOf } from '../tasks/export.ts';
import { Facts } from './facts.tsx';
import { Flow } from './flow.tsx';
import { LifeBars } from './life-bars.tsx';
import { ProgressBar } from './progress-bar.tsx';
import { Story } from './story.tsx';
import { TaskTabs } from './task-tabs.tsx';
import { UnknownTask } from './unknown-task.tsx';

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
      {data.state === 'FAILURE' && <Story task={data} />}
      {(data.exception !== null || data.traceback !== null) && (
        <Traceback
          exception={data.exception}
          text={data.traceback}
          isCut={data.truncated.includes('traceback')}
          missing="The engine reported none."
        />
      )}
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
