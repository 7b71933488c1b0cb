import type { ComponentChildren } from 'preact';
import type { TaskBody } from '../../wire.ts';
import { EngineState, Flags, StateBadge } from '../parts/facts.tsx';
import { Ago, Name } from '../parts/inline.tsx';
import { go, linkTo } from '../route.ts';
import { seconds } from '../text/format.ts';
import { callText, type Words } from '../text/words.ts';
import { orderOf, type Sort, withFilter } from './list-query.ts';

const callOf = ({ args, kwargs }: TaskBody): string => callText(args, kwargs);

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
function Said({ task, search }: Pick<Shown, 'task' | 'search'>) {
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
          {label !== undefined && <span class="small-text match-field">{label}</span>}
          <Marked text={match.text} parts={search} />
        </span>
      )}
      {[...new Set(others)].map((text) => (
        <span key={text}>
          {' '}
          <Marked text={text} parts={search} />
        </span>
      ))}
      {exception !== null && match.field !== 'exception' && <span class="tone-failure"> {exception}</span>}
    </>
  );
}

/** Whether a text contains one of the searched texts, in any case. */
const findsIn = (text: string, parts: readonly string[]): boolean =>
  parts.some((part) => text.toLowerCase().includes(part.toLowerCase()));

/** A text in which all searched texts are marked. */
function Marked({ text, parts }: { readonly text: string; readonly parts: readonly string[] }) {
  const pieces = [];
  let end = 0;
  for (const [from, to] of foundIn(text, parts)) {
    pieces.push(text.slice(end, from), <mark key={from}>{text.slice(from, to)}</mark>);
    end = to;
  }
  return (
    <>
      {pieces}
      {text.slice(end)}
    </>
  );
}

/** The positions of the matches from left to right, with adjacent ones merged. */
function foundIn(text: string, parts: readonly string[]): readonly (readonly [from: number, to: number])[] {
  const lower = text.toLowerCase();
  const found: [from: number, to: number][] = [];
  for (const wanted of parts.map((part) => part.toLowerCase()).filter(Boolean)) {
    for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) {
      found.push([at, at + wanted.length]);
    }
  }
  const merged: [from: number, to: number][] = [];
  for (const [from, to] of found.toSorted(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

/** What a row shows. */
interface Shown {
  readonly task: TaskBody;
  readonly isActive: boolean;
  /** The searched texts. */
  readonly search: readonly string[];
  /** Link to the page of the task. */
  readonly link: string;
}

interface Column {
  readonly kind: string;
  readonly text: string;
  readonly sort?: Sort;
  readonly title?: (task: TaskBody) => string | undefined;
  readonly cell: (shown: Shown) => ComponentChildren;
}

const NONE = <span class="dim">–</span>;

const columnsFor = ({ input }: Words): readonly Column[] => [
  { kind: 'c-state', text: 'State', sort: 'state', cell: ({ task }) => <StateBadge state={task.state} /> },
  { kind: 'c-name', text: 'Task', sort: 'name', cell: NameCell },
  { kind: 'c-args', text: `Error or ${input}`, title: callOf, cell: Said },
  {
    kind: 'c-ran num',
    text: 'Run',
    sort: 'runtime',
    cell: ({ task }) => (task.runtime === null ? NONE : seconds(task.runtime)),
  },
  {
    kind: 'c-wait num',
    text: 'Wait',
    cell: ({ task }) => (task.wait_seconds === null ? NONE : seconds(task.wait_seconds)),
  },
  { kind: 'c-queue', text: 'Queue', cell: ({ task }) => task.queue ?? NONE },
  {
    kind: 'c-worker',
    text: 'Worker',
    title: ({ worker }) => worker ?? undefined,
    cell: ({ task }) => task.worker ?? NONE,
  },
  {
    kind: 'c-when num',
    text: 'Changed',
    sort: 'timestamp',
    cell: ({ task }) => <Ago at={task.timestamp} missing="in queue" isShort />,
  },
];

function NameCell({ task, isActive, search, link }: Shown) {
  const { name, engine_state, flags, retries } = task;
  return (
    <>
      <a href={link} tabIndex={isActive ? 0 : -1}>
        {name !== null && findsIn(name, search) ? (
          <Marked text={name} parts={search} />
        ) : (
          <Name text={name ?? 'unknown name'} />
        )}
      </a>
      <EngineState word={engine_state} />
      <Flags flags={flags} />
      {retries !== null && retries > 0 && <span class="badge tone-retry outlined">{`retry ${retries}`}</span>}
    </>
  );
}

/** One row of the task list. */
export function TaskRow(props: Shown & { readonly words: Words; readonly index: number }) {
  const { words, index, task, isActive, link } = props;
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
      {columnsFor(words).map(({ kind, title, cell }) => (
        <div
          key={kind}
          role="cell"
          class={kind === 'c-args' ? 'c-args mono dim' : kind}
          title={title?.(task)}
        >
          {cell(props)}
        </div>
      ))}
    </div>
  );
}

/** The column headings of the list. Those of sortable columns are buttons. */
export function TaskHead(props: {
  readonly query: URLSearchParams;
  readonly words: Words;
  /** Possible sort fields; `null`: all. */
  readonly sorts: readonly string[] | null;
}) {
  const { query, words, sorts } = props;
  const { sort, order } = orderOf(query);

  function sortBy(column: Sort): void {
    const isText = column === 'name' || column === 'state';
    const turned = order === 'desc' ? 'asc' : 'desc';
    const next = column === sort ? turned : isText ? 'asc' : 'desc';
    const sorted = withFilter(query, 'sort', column === 'timestamp' ? [] : [column]);
    go(linkTo('tasks', withFilter(sorted, 'order', next === 'desc' ? [] : [next])));
  }

  return (
    <div role="rowgroup" class="small-text dim list-head">
      <div role="row" class="row" aria-rowindex={1}>
        {columnsFor(words).map(({ kind, text, sort: column }) => {
          const isSorted = column !== undefined && column === sort;
          return (
            <div
              key={kind}
              role="columnheader"
              class={kind}
              aria-sort={isSorted ? (order === 'asc' ? 'ascending' : 'descending') : undefined}
            >
              {column === undefined || sorts?.includes(column) === false ? (
                text
              ) : (
                <button type="button" class="sort" onClick={() => sortBy(column)}>
                  {text}
                  <span aria-hidden="true">{isSorted ? (order === 'asc' ? ' ↑' : ' ↓') : ''}</span>
                </button>
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}
