import type { TaskBody } from '../../client.ts';
import { findsIn, Marked } from '../parts/marked.tsx';
import { Ago } from '../parts/moment.tsx';
import { Name } from '../parts/name.tsx';
import { EngineState, Flags, StateBadge } from '../parts/state-badge.tsx';
import { go } from '../route.ts';
import { duration, seconds } from '../text/numbers.ts';

const callOf = ({ args, kwargs }: TaskBody): string =>
  [args, kwargs].filter((text) => text !== null && !/^(?:\(\)|\[\]|\{\})$/.test(text)).join(' ');

/** Names of the fields that have no column of their own. */
const FIELDS: Readonly<Record<string, string>> = { task_id: 'id', result: 'result', worker: 'worker' };

/** Number of characters before a match. */
const BEFORE = 24;

/** The excerpt of a row around one of the other searched texts. */
function excerptOf({ exception, args, kwargs }: TaskBody, part: string): string | null {
  for (const text of [exception, args, kwargs]) {
    const at = text?.toLowerCase().indexOf(part.toLowerCase()) ?? -1;
    if (text !== null && at >= 0) return at > BEFORE ? `…${text.slice(at - BEFORE)}` : text;
  }
  return null;
}

/** The searched texts, otherwise the error or the arguments. */
function Said({ task, search }: { readonly task: TaskBody; readonly search: readonly string[] }) {
  const { match, exception } = task;
  if (match == null || (match.field === 'name' && search.length === 1)) {
    return <span class={exception === null ? undefined : 'tone-failure'}>{exception ?? callOf(task)}</span>;
  }
  const shown = `${task.name} ${match.field === 'name' ? '' : match.text}`.toLowerCase();
  const others = search
    .filter((part) => !shown.includes(part.toLowerCase()))
    .flatMap((part) => excerptOf(task, part) ?? []);
  const label = FIELDS[match.field];
  return (
    <>
      {match.field !== 'name' && (
        <span class={match.field === 'exception' ? 'tone-failure' : undefined}>
          {label !== undefined && <span class="match-field">{label}</span>}
          <Marked text={match.text} parts={search} />
        </span>
      )}
      {[...new Set(others)].map((text) => (
        <span key={text}>
          {' '}
          <Marked text={text} parts={search} />
        </span>
      ))}
    </>
  );
}

/** One row of the task list. */
export function TaskRow(props: {
  readonly task: TaskBody;
  readonly index: number;
  readonly isActive: boolean;
  /** The searched texts. */
  readonly search: readonly string[];
  /** Link to the page of the task. */
  readonly link: string;
}) {
  const { task, index, isActive, search, link } = props;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link in it is what keys reach
    <div
      role="row"
      aria-rowindex={index + 2}
      class="row"
      data-active={isActive ? '' : undefined}
      onClick={(event) => {
        if (!(event.target instanceof HTMLElement) || event.target.closest('a') !== null) return;
        if (getSelection()?.isCollapsed !== false) go(link);
      }}
    >
      <div role="cell" class="c-state">
        <StateBadge state={task.state} />
      </div>
      <div role="cell" class="c-name">
        <a href={link} tabIndex={isActive ? 0 : -1}>
          {task.name !== null && findsIn(task.name, search) ? (
            <Marked text={task.name} parts={search} />
          ) : (
            <Name text={task.name ?? 'unknown name'} />
          )}
        </a>
        <EngineState word={task.engine_state} />
        <Flags flags={task.flags} />
        {task.retries !== null && task.retries > 0 && (
          <span class="badge tone-retry outlined">{`retry ${task.retries}`}</span>
        )}
      </div>
      <div role="cell" class="c-args mono dim" title={callOf(task)}>
        <Said task={task} search={search} />
      </div>
      <div role="cell" class="c-ran num">
        {task.runtime === null ? <span class="dim">–</span> : seconds(task.runtime)}
      </div>
      <div role="cell" class="c-wait num">
        {task.wait_seconds === null ? <span class="dim">–</span> : duration(task.wait_seconds * 1_000)}
      </div>
      <div role="cell" class="c-queue">
        {task.queue ?? <span class="dim">–</span>}
      </div>
      <div role="cell" class="c-worker" title={task.worker ?? undefined}>
        {task.worker ?? <span class="dim">–</span>}
      </div>
      <div role="cell" class="c-when num">
        <Ago at={task.timestamp} missing="in queue" isShort />
      </div>
    </div>
  );
}
