/** Serializes relations, graphs and updates to graphs. */
import type { GraphEdge, GraphNode, StateCounts } from '../graph.ts';
import { flagsOf, type Task, type TaskRelation } from '../model.ts';
import type { Redactor } from '../redact.ts';
import { waitSecondsOf } from '../select/durations.ts';
import type {
  GraphEdgeBody,
  GraphNodeBody,
  GraphNodeUpdateBody,
  RelationBody,
  StateCountsBody,
} from '../wire.ts';
import {
  figure,
  isoTime,
  label,
  rawText,
  rulesFor,
  type ShowText,
  wellFormed,
  whole,
} from './shown-values.ts';

/** A relation, as clients see it. */
export function relationBody({ parent, child, relation }: TaskRelation): RelationBody {
  return { parent: label(parent), child: wellFormed(child), relation: wellFormed(relation) };
}

/** A node of a graph, as clients see it. */
export function graphNodeBody(node: GraphNode, show: ShowText, redactor: Redactor): GraphNodeBody {
  return readable(node, (known) => nodeBody(known, show, redactor));
}

/** An edge of a graph, as clients see it. */
export function graphEdgeBody({ id, source, target, kind }: GraphEdge): GraphEdgeBody {
  return {
    id: wellFormed(id),
    source: wellFormed(source),
    target: wellFormed(target),
    kind: wellFormed(kind),
  };
}

/** The fields of a node that can change, as clients see them. */
export function nodeUpdateBody(node: GraphNode): GraphNodeUpdateBody {
  return readable(node, nodeUpdate);
}

/** Task counts, as clients see them. */
export function countsBody(counts: StateCounts): StateCountsBody {
  const { total, pending, running, retry, success, failure, revoked } = counts;
  return { total, pending, running, retry, success, failure, revoked };
}

/** A task whose getters throw stays in the graph as a task known only by reference. */
function readable<Body>(node: GraphNode, bodyOf: (node: GraphNode) => Body): Body {
  try {
    return bodyOf(node);
  } catch {
    return bodyOf({ ...node, task: null });
  }
}

function nodeBody(node: GraphNode, show: ShowText, redactor: Redactor): GraphNodeBody {
  const { task } = node;
  const shown = nodeUpdate(node);
  const parentId = label(task?.parentId);
  const isRedacted = task?.redacted === true;
  const text = (value: unknown, field: string) => show(value, field, false, isRedacted).text;
  return {
    ...shown,
    task_name: label(task?.name),
    queue: label(task?.queue),
    args_preview: text(task?.args, 'args'),
    kwargs_preview: text(task?.kwargs, 'kwargs'),
    result_preview: text(task?.result, 'result'),
    traceback_preview: exceptionLine(task?.traceback, show, redactor, isRedacted),
    stamps_preview: text(task?.stamps, 'stamps'),
    parent_id: parentId === shown.id ? null : parentId,
    root_id: label(task?.rootId),
    kind: node.kind,
  };
}

function nodeUpdate({ id, task, members }: GraphNode): GraphNodeUpdateBody {
  return {
    id: wellFormed(id),
    state: label(task?.state),
    engine_state: label(task?.engineState),
    flags: flagsOf(task?.flags),
    duration_ms: task === null ? null : durationOf(task),
    wait_ms: task === null ? null : millisOf(figure(waitSecondsOf(task))),
    retries: whole(task?.retries),
    sent_at: isoTime(task?.sent),
    received_at: isoTime(task?.received),
    eta: isoTime(task?.eta),
    started_at: isoTime(task?.started),
    finished_at: isoTime(task?.finished),
    worker: label(task?.worker),
    members: members === null ? null : countsBody(members),
  };
}

/** The engine's run time, otherwise the time from start to finish. `null` if clock skew makes that negative. */
function durationOf({ runtime, started, finished }: Task): number | null {
  const ms = millisOf(figure(runtime));
  if (ms !== null) return ms;
  const [from, to] = [isoTime(started), isoTime(finished)];
  if (from === null || to === null || to < from) return null;
  return Date.parse(to) - Date.parse(from);
}

/** Rounds to microseconds, the resolution of clocks. Otherwise 0.29 s would become 290.00000000000006 ms. */
function millisOf(seconds: number | null): number | null {
  return seconds === null ? null : figure(Math.round(seconds * 1_000_000) / 1_000);
}

// Limits the search for the exception. A secret of several lines (a private key) that starts before this part
// contains no line with an exception.
const LOOK_BACK = 16_384;

// V8 prints the exception first and the calls below it, Python prints the exception last.
const CALL = /^\s+at\s/;

/**
 * The line of a traceback with the exception, as a preview; `null` if there is none.
 *
 * @param isRedacted whether the source has already removed secrets
 */
function exceptionLine(
  value: unknown,
  show: ShowText,
  redactor: Redactor,
  isRedacted: boolean,
): string | null {
  const rules = rulesFor(redactor, isRedacted);
  const raw = rawText(value, LOOK_BACK, rules);
  if (raw === null) return null;
  const lines = rules.text(tail(raw), 'traceback').split('\n');
  let line = lines.findLast((text) => text.trim() !== '' && !CALL.test(text));
  line ??= lines.findLast((text) => text.trim() !== '');
  return line === undefined ? null : show(line.trim(), 'traceback', false, isRedacted).text;
}

/**
 * The last complete lines of a text. For a single overlong line, its beginning, which has the name of the exception.
 */
function tail(raw: string): string {
  if (raw.length <= LOOK_BACK) return raw;
  const start = raw.indexOf('\n', raw.length - LOOK_BACK);
  return start < 0 || start > raw.length - 2 ? raw.slice(0, LOOK_BACK) : raw.slice(start + 1);
}
