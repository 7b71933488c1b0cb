/**
 * The rows of the waterfall and their contents: tasks, folded siblings with the same name, and rows that list more of
 * them.
 */

import type { GraphNodeBody } from '../../wire.ts';
import { hasFailed, lookOfMembers } from '../graph/node-state.ts';
import { count, counted, duration } from '../text/format.ts';
import { markOf, saysMore, toneOf } from '../text/words.ts';
import { type Span, spanOf, spanOfAll } from './times.ts';
import type { Tree, Workflow } from './use-workflow.ts';

/** A row. */
export interface Row {
  readonly key: string;
  readonly kind: 'task' | 'fold' | 'more';
  readonly depth: number;
  /** The task of the row; of a fold, all its tasks; of `more`, those that are not listed yet. */
  readonly ids: readonly string[];
  /** Whether the rows below it are shown; `null` if it can have none. */
  readonly isOpen: boolean | null;
  /** The key of the fold that it is, that it belongs to, or would belong to if there were more tasks of its name. */
  readonly fold: string;
}

/** The rows that the reader has opened. */
export interface Opened {
  /** For every row that the reader has not opened or closed: all, none, or all but folds. */
  readonly others: 'all' | 'none' | 'tasks';
  readonly rows: ReadonlyMap<string, boolean>;
  /** Number of listed tasks of a fold, in addition to those that are always listed. */
  readonly listed: ReadonlyMap<string, number>;
}

/** More siblings of one name than this are folded. */
const MOST_SIBLINGS = 5;
/** Number of tasks of an opened fold, in addition to those that failed. */
export const FIRST_LISTED = 20;
/** How many more are listed at a time. */
export const MORE_LISTED = 50;

/** The input of {@link rowsOf}. */
interface RowsOptions {
  readonly tree: Tree;
  readonly opened: Opened;
  /** Rows to list first in their fold: failed tasks, with the rows above them. */
  readonly first: ReadonlySet<string>;
  /** If not `null`, no other rows are listed. */
  readonly only: ReadonlySet<string> | null;
}

type Item = Omit<Row, 'isOpen'>;

/** The rows to show, from top to bottom. */
export function rowsOf(options: RowsOptions): readonly Row[] {
  const { tree, opened } = options;
  const rows: Row[] = [];
  // A stack, because chains of senders may be deeper than the call stack.
  const waiting: Item[] = itemsOf(options, tree.roots, 0).toReversed();
  for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
    const { kind, key, ids, depth } = item;
    if (kind === 'more') {
      rows.push({ ...item, isOpen: null });
      continue;
    }
    const children = kind === 'task' ? (tree.childrenOf.get(ids[0] ?? '') ?? []) : ids;
    const kept = options.only === null ? children : children.filter((id) => options.only?.has(id));
    const isOpen = kept.length === 0 ? null : isOpened(opened, key, kind);
    rows.push({ ...item, isOpen });
    if (isOpen !== true) continue;
    const below =
      kind === 'task' ? itemsOf(options, kept, depth + 1) : itemsOfFold(options, key, kept, depth + 1);
    for (const one of below.toReversed()) waiting.push(one);
  }
  return rows;
}

function isOpened({ others, rows }: Opened, key: string, kind: Row['kind']): boolean {
  return rows.get(key) ?? (others === 'all' || (others === 'tasks' && kind === 'task'));
}

/** Siblings, with those of one name folded at the place of the first. */
function itemsOf({ tree, only }: RowsOptions, siblings: readonly string[], depth: number): readonly Item[] {
  const kept = only === null ? siblings : siblings.filter((id) => only.has(id));
  const keyOf = (id: string): string => tree.foldOf.get(id) ?? id;
  const byName = Map.groupBy(kept, keyOf);
  const items: Item[] = [];
  for (const id of kept) {
    const key = keyOf(id);
    const ids = byName.get(key);
    if (ids === undefined) continue;
    if (ids.length <= MOST_SIBLINGS) items.push({ kind: 'task', key: id, ids: [id], depth, fold: key });
    else {
      items.push({ kind: 'fold', key, ids, depth, fold: key });
      byName.delete(key);
    }
  }
  return items;
}

/** The tasks of an opened fold: failed ones, then the first others, then the number of remaining ones. */
function itemsOfFold(
  { first, opened }: RowsOptions,
  key: string,
  ids: readonly string[],
  depth: number,
): readonly Item[] {
  const most = opened.listed.get(key) ?? FIRST_LISTED;
  const others = ids.filter((id) => !first.has(id));
  const listed = [...ids.filter((id) => first.has(id)), ...others.slice(0, most)];
  const items = listed.map((id): Item => ({ kind: 'task', key: id, ids: [id], depth, fold: key }));
  const left = others.slice(most);
  return left.length === 0
    ? items
    : [...items, { kind: 'more', key: `more ${key}`, ids: left, depth, fold: key }];
}

/** Opens the rows above a task, so that its own row is shown. */
export function openedTo(opened: Opened, tree: Tree, id: string): Opened {
  const rows = new Map(opened.rows);
  const seen = new Set<string>();
  for (let at: string | undefined = id; at !== undefined && !seen.has(at); ) {
    seen.add(at);
    rows.set(tree.foldOf.get(at) ?? at, true);
    at = tree.parentOf.get(at);
    if (at !== undefined) rows.set(at, true);
  }
  return { ...opened, rows };
}

/** The content of a row. */
export interface Facts {
  readonly name: string;
  /** The task; `null` for several. */
  readonly node: GraphNodeBody | null;
  readonly span: Span;
  readonly tone: string;
  /** The colour of its bar. */
  readonly barTone: string;
  /** The mark in front of the name. */
  readonly mark: string;
  /** What the mark and the colour mean. */
  readonly state: string;
  /** Whether it never ran, or failed only because another task did. */
  readonly isFaded: boolean;
}

/** The content of a row. */
export function factsOfRow({ kind, ids }: Pick<Row, 'kind' | 'ids'>, { nodes, outcome }: Workflow): Facts {
  const found = ids.map((id) => nodes.get(id)).filter((node) => node !== undefined);
  const [node] = found;
  const isTask = kind === 'task' && node !== undefined;
  return isTask ? factsOfTask(node, outcome.idle) : factsOfFold(found, outcome.idle);
}

/** @param idle ids of the tasks that never ran */
function factsOfTask(node: GraphNodeBody, idle: ReadonlySet<string>): Facts {
  const isFaded = idle.has(node.id);
  const group = node.kind === 'group' && node.members !== null ? lookOfMembers(node.members) : null;
  const tone = isFaded ? 'waiting' : (group?.tone ?? toneOf(node.state));
  return {
    name: node.task_name ?? virtualName(node),
    node,
    span: spanOf(node),
    tone,
    barTone: tone,
    mark: markOf(tone),
    state: isFaded ? 'never ran' : (group?.line ?? stateOf(node)),
    isFaded,
  };
}

function virtualName({ id, kind, members, state }: GraphNodeBody): string {
  if (kind === 'group') return `group of ${count(members?.total ?? 0)}`;
  if (kind === 'chord') return 'body of the chord';
  return state === null ? id : 'task with unknown name';
}

function stateOf({ state, engine_state, kind }: GraphNodeBody): string {
  if (state === null) return kind === 'chord' ? 'not sent yet' : 'not reported yet';
  return saysMore(engine_state) ? `${state}, ${engine_state}` : state;
}

/** The content of a row of several tasks with the same name. */
function factsOfFold(nodes: readonly GraphNodeBody[], idle: ReadonlySet<string>): Facts {
  const tally = tallyOf(nodes, idle);
  const { total, failed, neverRan, succeeded, running } = tally;
  const tone = failed > 0 ? 'failure' : succeeded === total ? 'success' : running > 0 ? 'running' : 'waiting';
  const [first] = nodes;
  return {
    name: first === undefined ? '' : (first.task_name ?? virtualName(first)),
    node: null,
    span: spanOfAll(nodes.map(spanOf)),
    tone,
    // One failure among many must not make all of them look failed.
    barTone: failed > 0 && failed < total ? (running > 0 ? 'running' : 'success') : tone,
    mark: markOf(tone),
    state: tallyText(tally),
    isFaded: neverRan === total,
  };
}

/** The number of tasks in each state. */
function tallyOf(nodes: readonly GraphNodeBody[], idle: ReadonlySet<string>) {
  let [failed, neverRan, succeeded, running] = [0, 0, 0, 0];
  for (const node of nodes) {
    if (idle.has(node.id)) neverRan += 1;
    else if (hasFailed(node)) failed += 1;
    else if (node.state === 'SUCCESS') succeeded += 1;
    else if (node.state !== null && spanOf(node).started !== null && spanOf(node).isOpen) running += 1;
  }
  return { total: nodes.length, failed, neverRan, succeeded, running };
}

function tallyText({ total, failed, neverRan, succeeded, running }: ReturnType<typeof tallyOf>): string {
  const parts = [
    [failed, 'failed'],
    [neverRan, 'never ran'],
    [running, 'running'],
  ] as const;
  const text = parts
    .filter(([number]) => number > 0)
    .map(([number, word]) => `${count(number)} ${word}`)
    .join(', ');
  const isRest = succeeded > 0 && succeeded + failed + neverRan < total;
  if (text !== '' && !isRest) return text;
  const done = succeeded === total ? `${count(total)} done` : `${count(succeeded)} of ${count(total)} done`;
  return text === '' ? done : `${text}, ${done}`;
}

const isEndUnseen = (node: GraphNodeBody | null): boolean => node?.flags.includes('end_unseen') === true;

/** The text beside a bar. */
export function barText({ node, span, state, isFaded }: Facts, now: number): string {
  if (isFaded || node === null || node.state === null) return state;
  const { from, started, ended, isOpen } = span;
  if (node.state === 'RETRY') return retryText(node, now);
  if (started !== null && isOpen) return duration(Math.max(0, now - started));
  if (isOpen && from !== null) {
    return from > now ? `due in ${duration(from - now)}` : `waits ${duration(now - from)}`;
  }
  if (node.state === 'REVOKED' || node.state === 'REJECTED') return node.state.toLowerCase();
  const isUnknown = started === null || ended === null || isEndUnseen(node);
  const ran = node.duration_ms ?? (isUnknown ? null : ended - started);
  return ran === null ? node.state : duration(ran);
}

function retryText({ eta, retries }: GraphNodeBody, now: number): string {
  const due = eta === null ? null : Date.parse(eta) - now;
  return `retry ${retries ?? ''} ${due === null || due < 0 ? 'waits' : `in ${duration(due)}`}`.replace(
    '  ',
    ' ',
  );
}

/** Everything about the times of a row, in words. */
export function timesText({ node, span }: Facts, now: number): string {
  const { from, started, ended, isOpen } = span;
  const end = ended ?? (isOpen ? now : null);
  const parts: string[] = [];
  if (from !== null && started !== null && started > from) parts.push(`waited ${duration(started - from)}`);
  if (started !== null && end !== null && !isEndUnseen(node)) {
    const ran = node?.duration_ms ?? end - started;
    parts.push(`${isOpen ? 'has run for' : 'ran'} ${duration(isOpen ? end - started : ran)}`);
  } else if (from !== null && end !== null && end > from) parts.push(`waited ${duration(end - from)}`);
  const retries = node?.retries ?? 0;
  if (retries > 0) parts.push(`after ${counted(retries, 'retry', 'retries')}`);
  return parts.join(', ');
}
