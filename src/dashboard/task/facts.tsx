import type { ComponentChildren } from 'preact';
import type { TaskDetailBody } from '../../client.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Fact } from '../parts/fact.tsx';
import { Ago, Moment } from '../parts/moment.tsx';
import { linkTo, queueLink, taskLink, workerLink } from '../route.ts';
import { seconds } from '../text/numbers.ts';
import { wordsFor } from '../text/words.ts';

/** The scalar fields of a task, the most useful first. */
export function Facts({ task }: { readonly task: TaskDetailBody }) {
  return (
    <>
      <dl class="facts">
        <Fact name="ID" value={copied('id', task.task_id)} />
        <Fact name="Worker" value={pageLink(task.worker, workerLink)} />
        <Fact name="Queue" value={pageLink(task.queue, queueLink)} />
        <Fact name="Started" value={at(task.started)} />
        <Fact name="Finished" value={at(task.finished)} />
        <Fact name="Runtime" value={task.runtime === null ? null : seconds(task.runtime)} />
        <Fact name="Retries" value={task.retries} />
        {task.eta !== null && (
          <Fact
            name="ETA"
            value={
              <>
                <Moment at={task.eta} />{' '}
                <span class="dim">
                  (<Ago at={task.eta} />)
                </span>
              </>
            }
          />
        )}
        {task.trace_id !== null && <Fact name="Trace" value={copied('trace id', task.trace_id)} />}
      </dl>
      <details class="more-facts">
        <summary>More</summary>
        <RareFacts task={task} />
      </details>
    </>
  );
}

function RareFacts({ task }: { readonly task: TaskDetailBody }) {
  return (
    <dl class="facts">
      <Fact name="Sent" value={at(task.sent)} />
      <Fact name="Received" value={at(task.received)} />
      <Fact name="Waited" value={task.wait_seconds === null ? null : seconds(task.wait_seconds)} />
      {task.expires !== null && <Fact name="Expires" value={at(task.expires)} />}
      {task.time_limits !== null && <Fact name="Time limits" value={limits(task.time_limits)} />}
      {task.parent_id !== null && (
        <Fact name={wordsFor(task.sources, task.source).parent} value={idLink(task.parent_id)} />
      )}
      {task.root_id !== null && task.root_id !== task.task_id && (
        <Fact name="Root" value={idLink(task.root_id)} />
      )}
      {task.group_id !== null && (
        <Fact name="Group" value={idLink(task.group_id, linkTo('tasks', { group_id: task.group_id }))} />
      )}
      {task.chord_id !== null && <Fact name="Chord body" value={idLink(task.chord_id)} />}
      <Fact name="Source" value={task.source} />
    </dl>
  );
}

const limits = ({ soft, hard }: NonNullable<TaskDetailBody['time_limits']>): string =>
  [soft === null ? [] : `${seconds(soft)} soft`, hard === null ? [] : `${seconds(hard)} hard`]
    .flat()
    .join(', ');

const at = (value: string | null): ComponentChildren => (value === null ? null : <Moment at={value} />);

const copied = (what: string, text: string): ComponentChildren => (
  <>
    <span class="mono wrap">{text}</span> <CopyButton text={text} what={what} />
  </>
);

const idLink = (id: string, link = taskLink(id)): ComponentChildren => (
  <a class="mono wrap" href={link}>
    {id}
  </a>
);

const pageLink = (value: string | null, linkOf: (name: string) => string): ComponentChildren =>
  value === null ? null : <a href={linkOf(value)}>{value}</a>;
