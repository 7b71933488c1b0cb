/** The texts of the waterfall's rows. */
import type { GraphNodeBody } from '../../wire.ts';
import { hasFailed, lookOfMembers } from '../graph/node-state.ts';
import { count, counted, duration } from '../text/format.ts';
import { markOf, saysMore, toneOf } from '../text/words.ts';
import type { Row } from './rows.ts';
import { type Span, spanOf, spanOfAll } from './times.ts';
import type { Workflow } from './use-workflow.ts';

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
