import type { ComponentChildren } from 'preact';
import type { TaskDetailBody } from '../../client.ts';
import type { TaskProgressBody } from '../../wire.ts';
import { isConsequence } from '../graph/node-state.ts';
import { canAskFor } from '../live/connection.ts';
import { clock } from '../live/pace.ts';
import { Blocked, Flags, StateBadge, Tile } from '../parts/facts.tsx';
import { Ago, CopyButton, Moment } from '../parts/inline.tsx';
import { ErrorText } from '../parts/value-block.tsx';
import { causeLink, nameLink, queueLink, taskLink, workerLink, workflowLink } from '../route.ts';
import { useStore } from '../store.ts';
import { curlOf } from '../tasks/export.ts';
import { count, counted, duration } from '../text/format.ts';
import { toneOf } from '../text/words.ts';
import { factsOfRow } from '../workflow/rows.ts';
import type { Workflow } from '../workflow/use-workflow.ts';
import { linkOfRow } from '../workflow/waterfall-row.tsx';
import { livesOf } from './attempts.tsx';

/** What became of a task: its state and error, when and where it ran, and what followed. @param workflow the tasks around it, if any */
export function TaskHead(props: { readonly task: TaskDetailBody; readonly workflow: Workflow | null }) {
  const { task, workflow } = props;
  const { state, name, exception, progress, worker, queue, retries, cause } = task;
  const spans = livesOf(task, useStore(clock)).at(-1)?.spans ?? [];
  return (
    <section class={`panel task-head tone-${toneOf(state)}`} aria-label="Outcome">
      <div class="flow task-state">
        <StateBadge state={state} engineState={task.engine_state} />
        <Flags flags={task.flags} />
      </div>
      {exception !== null && <ErrorText text={exception} />}
      <Blocked wait={task.waiting_for} />
      {progress !== null && <ProgressBar progress={progress} />}
      <dl class="flow tiles">
        <Latest task={task} />
        {worker !== null && <Tile name="Worker" value={<a href={workerLink(worker)}>{worker}</a>} />}
        {queue !== null && <Tile name="Queue" value={<a href={queueLink(queue)}>{queue}</a>} />}
        {retries !== null && <Tile name="Attempt" value={count(retries + 1)} />}
        {spans.map(({ kind, text, ms }) => (
          <Tile key={kind} name={text} value={duration(ms)} />
        ))}
      </dl>
      {workflow !== null && <Story task={task} workflow={workflow} />}
      <p class="flow task-story">
        {cause !== null && canAskFor('cause') && <a href={causeLink(cause)}>All failures of this cause ›</a>}
        {name !== null && canAskFor('name') && <a href={nameLink(name)}>About this name ›</a>}
        {task.links.map(({ text, url }, index) => (
          <a key={index} class="wrap" href={url} rel="noreferrer">
            {text}
          </a>
        ))}
        <CopyButton
          label="Copy as curl"
          text={() => curlOf(`api/tasks/${encodeURIComponent(task.task_id)}/`)}
        />
      </p>
    </section>
  );
}

/** The last step of a task, and when it was. */
function Latest({ task }: { readonly task: TaskDetailBody }) {
  const { done, state, sent, started, finished, timestamp } = task;
  const end = state === 'FAILURE' ? 'Failed' : 'Ended';
  const [name, at] = done ? [end, finished] : started === null ? ['Sent', sent] : ['Started', started];
  return <Tile name={name} value={timeAndAge(at ?? timestamp) ?? 'unknown'} />;
}

/** Number of names that followed a task and are shown. */
const MOST_NAMES = 3;

/** Where the failure of a task comes from, what the task has started, and what never ran. */
function Story({ task, workflow }: { readonly task: TaskDetailBody; readonly workflow: Workflow }) {
  const { nodes, graph, outcome } = workflow;
  const { task_id } = task;
  const source = isConsequence(task) ? outcome.cause : null;
  const next = graph.edges.flatMap((edge) => (edge.source === task_id ? [edge.target] : []));
  const names = [...Map.groupBy(next, (id) => nodes.get(id)?.task_name ?? id).values()];
  const said = new Set([task_id, ...next]);
  const unrun = task.state === 'FAILURE' ? [...outcome.idle].filter((id) => !said.has(id)).length : 0;
  if (source === null && next.length === 0 && unrun === 0) return null;
  return (
    <p class="flow task-story">
      {source !== null && (
        <span>
          Consequence of <a href={taskLink(source.id)}>{source.task_name ?? source.id} ›</a>
        </span>
      )}
      {names.length > 0 && (
        <span>
          Then:{' '}
          {joined(
            names.slice(0, MOST_NAMES).map((ids) => <Next key={ids[0]} ids={ids} workflow={workflow} />),
          )}
          {names.length > MOST_NAMES && ` and ${count(names.length - MOST_NAMES)} more`}
        </span>
      )}
      {unrun > 0 && <a href={workflowLink(task_id)}>{`${counted(unrun, 'step')} never ran ›`}</a>}
    </p>
  );
}

const joined = (parts: readonly ComponentChildren[]): ComponentChildren =>
  parts.flatMap((part, index) => (index === 0 ? [part] : [', ', part]));

/** Tasks of one name that followed, with their state as a mark, and in words unless they succeeded. */
function Next({ ids, workflow }: { readonly ids: readonly string[]; readonly workflow: Workflow }) {
  const isOne = ids.length === 1;
  const row = { kind: isOne ? 'task' : 'fold', ids } as const;
  const facts = factsOfRow(row, workflow);
  const link = isOne ? linkOfRow(row, facts) : workflowLink(ids[0] ?? '');
  const name = isOne ? facts.name : `${facts.name} ×${count(ids.length)}`;
  return (
    <>
      {link === null ? name : <a href={link}>{name}</a>}{' '}
      <b class={`tone-${facts.tone}`} aria-hidden="true">
        {facts.mark}
      </b>
      <span class={facts.tone === 'success' ? 'offscreen' : 'dim'}> {facts.state}</span>
    </>
  );
}

/** The progress of a task, as it reports it. */
function ProgressBar({ progress }: { readonly progress: TaskProgressBody }) {
  const { current, total, percent, text } = progress;
  const steps =
    current === null ? null : total === null ? count(current) : `${count(current)} of ${count(total)}`;
  const share = percent === null ? null : `${Math.floor(percent)} %`;
  return (
    <div class="flow task-progress">
      {percent !== null && <progress max={100} value={percent} aria-label="Progress" />}
      <span>
        {[share, steps].filter((part) => part !== null).join(' · ')}
        {text !== null && <span class="dim wrap"> {text}</span>}
      </span>
    </div>
  );
}

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
