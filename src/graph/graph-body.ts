import type { Task } from '../model.ts';
import type { GraphNodeBody, GraphNodeUpdateBody } from '../wire.ts';
import type { GraphNode } from './graph-types.ts';

/** How texts of a node are shown: redacted and cut. */
export interface NodePreviews {
  preview(value: unknown): string | null;
  /** The end of a traceback: the exception's line. */
  tracebackPreview(value: unknown): string | null;
}

/** What of a node may change while the graph keeps its shape. */
export function graphUpdateBody({ id, task, members }: GraphNode): GraphNodeUpdateBody {
  return {
    id,
    state: task?.state ?? null,
    duration_ms: task === null ? null : durationOf(task),
    retries: wholeOrNull(task?.retries),
    started_at: isoOrNull(task?.started),
    finished_at: isoOrNull(task?.finished),
    worker: task?.worker ?? null,
    members: members === null ? null : { ...members },
  };
}

/** A node of the graph as clients see it. */
export function graphBody(node: GraphNode, previews: NodePreviews): GraphNodeBody {
  const { task } = node;
  const { id, state, duration_ms, retries, started_at, finished_at, worker, members } = graphUpdateBody(node);
  return {
    id,
    task_name: task?.name ?? null,
    state,
    started_at,
    finished_at,
    duration_ms,
    retries,
    queue: task?.queue ?? null,
    worker,
    args_preview: previews.preview(task?.args),
    kwargs_preview: previews.preview(task?.kwargs),
    result_preview: previews.preview(task?.result),
    traceback_preview: previews.tracebackPreview(task?.traceback),
    stamps_preview: previews.preview(task?.stamps),
    parent_id: task?.parentId == null || task.parentId === id ? null : task.parentId,
    root_id: task?.rootId ?? null,
    kind: node.kind,
    members,
  };
}

/** Milliseconds: the engine's own figure, else from start to end; clocks that make it negative tell nothing. */
function durationOf(task: Task): number | null {
  if (typeof task.runtime === 'number' && Number.isFinite(task.runtime)) return round(task.runtime * 1_000);
  const from = task.started?.getTime() ?? Number.NaN;
  const to = task.finished?.getTime() ?? Number.NaN;
  return to >= from ? to - from : null;
}

/** Microseconds are as far as clocks go. */
function round(milliseconds: number): number {
  return Math.round(milliseconds * 1_000) / 1_000;
}

function isoOrNull(time: Date | null | undefined): string | null {
  return time instanceof Date && !Number.isNaN(time.getTime()) ? time.toISOString() : null;
}

function wholeOrNull(value: number | null | undefined): number | null {
  return Number.isSafeInteger(value) ? (value as number) : null;
}
