/** When each task of a workflow waited and ran. */
import type { GraphNodeBody } from '../../wire.ts';
import { hasFailed, isConsequence } from '../graph/node-state.ts';
import { millis } from '../text/moments.ts';

/** An interval of time, in milliseconds since 1970. */
export type Interval = readonly [from: number, to: number];

/** The times of a task, in milliseconds since 1970; `null` if unknown or missing. */
export interface Span {
  /** For a retried task: when it was sent. */
  readonly sent: number | null;
  /** When its earlier attempts ran. Only the page of a task knows them. */
  readonly earlier?: readonly Interval[];
  /** When the last attempt began to wait. */
  readonly from: number | null;
  readonly started: number | null;
  readonly ended: number | null;
  /** Whether it still waits or runs, so that it lasts until now. */
  readonly isOpen: boolean;
}

const NONE: Span = { sent: null, from: null, started: null, ended: null, isOpen: false };
const DONE: ReadonlySet<string> = new Set(['SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED']);
/** Nodes that did not change are the same objects as before. */
const known = new WeakMap<GraphNodeBody, Span>();

/** The times of one task. */
export function spanOf(node: GraphNodeBody): Span {
  const before = known.get(node);
  if (before !== undefined) return before;
  const span = readSpan(node);
  known.set(node, span);
  return span;
}

function readSpan(node: GraphNodeBody): Span {
  if (node.state === null) return NONE;
  const isOpen = !DONE.has(node.state) && !node.flags.includes('end_unseen');
  const [sent, started] = [millis(node.sent_at), millis(node.started_at)];
  const ended = isOpen ? null : endOf(node, started);
  const isRetried = (node.retries ?? 0) > 0;
  if (node.state === 'RETRY') return { ...NONE, sent: sent ?? started, isOpen };
  if (started === null) {
    const since = millis(node.received_at) ?? sent;
    const eta = millis(node.eta);
    const from = since === null ? null : Math.max(since, eta ?? since);
    const ran = ended === null || node.duration_ms === null ? null : ended - node.duration_ms;
    return { sent: isRetried ? sent : null, from: ran ?? from, started: ran, ended, isOpen };
  }
  const from = node.wait_ms === null ? started : started - node.wait_ms;
  return { sent: isRetried ? sent : null, from, started, ended: ended ?? (isOpen ? null : started), isOpen };
}

function endOf({ finished_at, duration_ms }: GraphNodeBody, started: number | null): number | null {
  const finished = millis(finished_at);
  // Clocks of two machines differ.
  if (finished !== null && (started === null || finished >= started)) return finished;
  return started === null ? finished : started + (duration_ms ?? 0);
}

/** Several tasks as one: from the start of the first wait to the end of the last task. */
export function spanOfAll(spans: readonly Span[]): Span {
  let [from, started, ended, isOpen]: [number | null, number | null, number | null, boolean] = [
    null,
    null,
    null,
    false,
  ];
  for (const span of spans) {
    from = least(from, span.from ?? span.sent);
    started = least(started, span.started);
    ended = ended === null ? span.ended : Math.max(ended, span.ended ?? ended);
    isOpen ||= span.isOpen;
  }
  return { sent: null, from, started, ended, isOpen };
}

const least = (one: number | null, other: number | null): number | null =>
  one === null ? other : other === null ? one : Math.min(one, other);

/** The number of tasks of a fold in each state. */
export interface Tally {
  readonly total: number;
  readonly failed: number;
  readonly neverRan: number;
  readonly succeeded: number;
  readonly running: number;
}

/** Counts the states of tasks. @param idle ids of those that never ran */
export function tallyOf(nodes: readonly GraphNodeBody[], idle: ReadonlySet<string>): Tally {
  let [failed, neverRan, succeeded, running] = [0, 0, 0, 0];
  for (const node of nodes) {
    if (idle.has(node.id) || isConsequence(node)) neverRan += 1;
    else if (hasFailed(node)) failed += 1;
    else if (node.state === 'SUCCESS') succeeded += 1;
    else if (node.state !== null && spanOf(node).started !== null && spanOf(node).isOpen) running += 1;
  }
  return { total: nodes.length, failed, neverRan, succeeded, running };
}
