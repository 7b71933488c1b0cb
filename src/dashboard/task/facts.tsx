import type { ComponentChildren } from 'preact';
import type { TaskDetailBody } from '../../client.ts';
import { Copyable } from '../parts/copy-button.tsx';
import { Facts } from '../parts/fact.tsx';
import { Ago, Moment } from '../parts/moment.tsx';
import { linkTo, taskLink } from '../route.ts';
import { seconds } from '../text/numbers.ts';
import { wordsFor } from '../text/words.ts';
import { isAlone } from './near-tasks.tsx';

/** What else is known of a task, beside its head. */
export function Details({ task }: { readonly task: TaskDetailBody }) {
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

/** A time, and how long ago it was or will be. */
export const timeAndAge = (at: string | null): ComponentChildren =>
  at && (
    <>
      <Moment at={at} />{' '}
      <span class="dim">
        (<Ago at={at} />)
      </span>
    </>
  );

const idLink = (id: string | null, link = taskLink(id ?? '')): ComponentChildren =>
  id && (
    <a class="mono wrap" href={link}>
      {id}
    </a>
  );
