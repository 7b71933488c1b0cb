import type { TaskBody } from '../../client.ts';
import { Ago } from '../parts/moment.tsx';
import { EngineState, Flags, StateBadge } from '../parts/state-badge.tsx';
import { go, taskLink } from '../route.ts';
import { duration, seconds } from '../text/numbers.ts';

const callOf = ({ args, kwargs }: TaskBody): string =>
  [args, kwargs].filter((text) => text !== null && !/^(?:\(\)|\[\]|\{\})$/.test(text)).join(' ');

/** One row of the task list. */
export function TaskRow(props: {
  readonly task: TaskBody;
  readonly index: number;
  readonly isActive: boolean;
}) {
  const { task, index, isActive } = props;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link in it is what keys reach
    <div
      role="row"
      aria-rowindex={index + 2}
      class="row"
      data-active={isActive ? '' : undefined}
      onClick={(event) => {
        if (!(event.target instanceof HTMLElement) || event.target.closest('a') !== null) return;
        if (getSelection()?.isCollapsed !== false) go(taskLink(task.task_id));
      }}
    >
      <div role="cell" class="c-state">
        <StateBadge state={task.state} />
      </div>
      <div role="cell" class="c-name">
        <a href={taskLink(task.task_id)} tabIndex={isActive ? 0 : -1}>
          {task.name ?? 'unknown name'}
        </a>
        <EngineState word={task.engine_state} />
        <Flags flags={task.flags} />
        {task.retries !== null && task.retries > 0 && (
          <span class="badge tone-retry outlined">{`retry ${task.retries}`}</span>
        )}
      </div>
      <div role="cell" class="c-args mono dim" title={callOf(task)}>
        {task.exception === null ? callOf(task) : <span class="tone-failure">{task.exception}</span>}
      </div>
      <div role="cell" class="c-worker" title={task.worker ?? undefined}>
        {task.worker ?? <span class="dim">–</span>}
      </div>
      <div role="cell" class="c-queue">
        {task.queue ?? <span class="dim">–</span>}
      </div>
      <div role="cell" class="c-wait num">
        {task.wait_seconds === null ? <span class="dim">–</span> : duration(task.wait_seconds * 1_000)}
      </div>
      <div role="cell" class="c-ran num">
        {task.runtime === null ? <span class="dim">–</span> : seconds(task.runtime)}
      </div>
      <div role="cell" class="c-when num">
        <Ago at={task.timestamp} missing="in queue" />
      </div>
    </div>
  );
}
