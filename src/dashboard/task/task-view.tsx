import '../style/task.css';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { TaskDetailBody } from '../../client.ts';
import type { TaskLogBody } from '../../wire.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Facts, StateBadge } from '../parts/facts.tsx';
import { Copyable, Moment } from '../parts/inline.tsx';
import { Traceback, ValueBlock, ValueSection } from '../parts/value-block.tsx';
import { Empty, isProblem, ReadState, ViewHead } from '../parts/view.tsx';
import { historyStart, loadHistoryStart } from '../range.ts';
import { linkTo, taskLink } from '../route.ts';
import { useStore } from '../store.ts';
import { count, duration, millis, seconds } from '../text/format.ts';
import { isEmpty, wordsFor } from '../text/words.ts';
import { Attempts } from './attempts.tsx';
import { isAlone, NearTasks, useNear } from './near-tasks.tsx';
import { TaskHead, timeAndAge } from './task-head.tsx';

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

/** What else is known of a task, beside its head. */
function Details({ task }: { readonly task: TaskDetailBody }) {
  const { task_id, root_id, group_id, time_limits } = task;
  const facts = [
    ['ID', <Copyable text={task_id} what="id" />],
    ['ETA', timeAndAge(task.eta)],
    ['Sent', time(task.sent)],
    ['Received', time(task.received)],
    ['Started', time(task.started)],
    ['Finished', time(task.finished)],
    ['Expires', time(task.expires)],
    ['Time limits', time_limits && limits(time_limits)],
    ['Trace', task.trace_id && <Copyable text={task.trace_id} what="trace id" />],
    [wordsFor(task.sources, task.source).parent, idLink(task.parent_id)],
    ['Root', root_id !== task_id && idLink(root_id)],
    ['Group', group_id && idLink(group_id, linkTo('tasks', { group_id }))],
    ['Chord body', idLink(task.chord_id)],
    ['Workflow', isAlone(task) && 'none'],
    ['Source', task.source],
  ] as const;
  return (
    <section class="panel">
      <h2>Details</h2>
      <Facts facts={facts} />
    </section>
  );
}

const limits = ({ soft, hard }: NonNullable<TaskDetailBody['time_limits']>): string =>
  [soft === null ? [] : `${seconds(soft)} soft`, hard === null ? [] : `${seconds(hard)} hard`]
    .flat()
    .join(', ');

const time = (at: string | null): ComponentChildren => at && <Moment at={at} />;

const idLink = (id: string | null, link = taskLink(id ?? '')): ComponentChildren =>
  id && (
    <a class="mono wrap" href={link}>
      {id}
    </a>
  );

/** The arguments of a task and its result, as far as they are known. Empty arguments are left out. */
function Values({ task }: { readonly task: TaskDetailBody }) {
  const { args, kwargs, options, result, truncated } = task;
  const words = wordsFor(task.sources, task.source);
  const values = [
    ['args', words.args, isEmpty(args) ? null : args],
    ['kwargs', words.kwargs, isEmpty(kwargs) ? null : kwargs],
    // BullMQ's options are also its keyword arguments.
    ['options', 'Options', options === kwargs ? null : options],
    ['result', 'Result', result],
  ] as const;
  return (
    <>
      {values.map(
        ([field, title, text]) =>
          text !== null && (
            <ValueBlock key={field} label={title} text={text} isCut={truncated.includes(field)} />
          ),
      )}
    </>
  );
}

/** The end of a job's log. */
function JobLog({ log: { lines, total } }: { readonly log: TaskLogBody }) {
  const text = lines.join('\n');
  const tools = lines.length < total && (
    <span class="dim">{`the last ${lines.length} of ${count(total)} lines`}</span>
  );
  return (
    <ValueSection label="Log" text={text} tools={tools}>
      <pre tabIndex={0}>{text}</pre>
    </ValueSection>
  );
}

/** Every observed change, with the exceptions of earlier attempts. */
function Timeline({ task: { timeline, exception } }: { readonly task: TaskDetailBody }) {
  let attempt = 1;
  const rows = timeline.map((entry, index) => {
    const mine = entry.retries === null ? attempt : entry.retries + 1;
    attempt = Math.max(attempt, entry.state === 'RETRY' ? mine + 1 : mine);
    const before = timeline[index - 1];
    const [last, at] = [millis(before?.timestamp ?? null), millis(entry.timestamp)];
    const after = last === null || at === null ? 0 : at - last;
    return { entry, mine, after, isElsewhere: entry.worker !== (before?.worker ?? null) };
  });
  return (
    <section class="panel">
      <h2>Timeline</h2>
      {rows.length === 0 && (
        <p class="dim">No changes were recorded: only the stored result of this task is known.</p>
      )}
      <ol class="timeline">
        {rows.map(({ entry, mine, after, isElsewhere }, index) => (
          <li key={index}>
            <div class="flow">
              <StateBadge state={entry.state} />
              <Moment at={entry.timestamp} missing="unknown time" />
              {after !== 0 && <span class="dim">{`+${duration(after)}`}</span>}
              {mine > 1 && mine !== rows[index - 1]?.mine && <span class="dim">{`attempt ${mine}`}</span>}
              {isElsewhere && <span class="dim">{entry.worker}</span>}
            </div>
            {entry.detail !== null && entry.detail !== exception && (
              <pre class="timeline-detail">{entry.detail}</pre>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
