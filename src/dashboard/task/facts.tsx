import type { ComponentChildren } from 'preact';
import type { TaskDetailBody } from '../../client.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Ago, Moment } from '../parts/moment.tsx';
import { linkTo, taskLink } from '../route.ts';
import { seconds } from '../text/numbers.ts';
import { wordsFor } from '../text/words.ts';

/** The scalar fields of a task, the most useful first. */
export function Facts({ task }: { readonly task: TaskDetailBody }) {
  return (
    <>
      <dl class="facts">
        <Fact name="ID">
          <span class="mono wrap">{task.task_id}</span> <CopyButton text={task.task_id} what="id" />
        </Fact>
        <Fact name="Worker">{filterLink('worker', task.worker)}</Fact>
        <Fact name="Queue">{filterLink('queue', task.queue)}</Fact>
        <Fact name="Started">{at(task.started)}</Fact>
        <Fact name="Finished">{at(task.finished)}</Fact>
        <Fact name="Runtime">{task.runtime === null ? null : seconds(task.runtime)}</Fact>
        <Fact name="Retries">{task.retries}</Fact>
        {task.eta !== null && (
          <Fact name="ETA">
            <Moment at={task.eta} />{' '}
            <span class="dim">
              (<Ago at={task.eta} />)
            </span>
          </Fact>
        )}
        {task.trace_id !== null && (
          <Fact name="Trace">
            <span class="mono wrap">{task.trace_id}</span> <CopyButton text={task.trace_id} what="trace id" />
          </Fact>
        )}
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
      <Fact name="Sent">{at(task.sent)}</Fact>
      <Fact name="Received">{at(task.received)}</Fact>
      <Fact name="Waited">{task.wait_seconds === null ? null : seconds(task.wait_seconds)}</Fact>
      {task.expires !== null && <Fact name="Expires">{at(task.expires)}</Fact>}
      {task.time_limits !== null && <Fact name="Time limits">{limits(task.time_limits)}</Fact>}
      {task.parent_id !== null && (
        <Fact name={wordsFor(task.sources, task.source).parent}>{idLink(task.parent_id)}</Fact>
      )}
      {task.root_id !== null && task.root_id !== task.task_id && (
        <Fact name="Root">{idLink(task.root_id)}</Fact>
      )}
      {task.group_id !== null && (
        <Fact name="Group">
          <a class="mono wrap" href={linkTo('tasks', { group_id: task.group_id })}>
            {task.group_id}
          </a>
        </Fact>
      )}
      {task.chord_id !== null && <Fact name="Chord body">{idLink(task.chord_id)}</Fact>}
      <Fact name="Source">{task.source}</Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children ?? <span class="dim">unknown</span>}</dd>
    </div>
  );
}

const limits = ({ soft, hard }: NonNullable<TaskDetailBody['time_limits']>): string =>
  [soft === null ? [] : `${seconds(soft)} soft`, hard === null ? [] : `${seconds(hard)} hard`]
    .flat()
    .join(', ');

const at = (value: string | null): ComponentChildren => (value === null ? null : <Moment at={value} />);

const idLink = (id: string): ComponentChildren => (
  <a class="mono wrap" href={taskLink(id)}>
    {id}
  </a>
);

const filterLink = (name: 'worker' | 'queue', value: string | null): ComponentChildren =>
  value === null ? null : <a href={linkTo('tasks', { [name]: value })}>{value}</a>;
