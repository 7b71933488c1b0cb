import type { GraphEdgeBody, GraphNodeBody } from '../../src/wire.ts';

/** A node of a graph; a task that succeeded unless `more` says otherwise. */
export const node = (id: string, name: string | null, more: Partial<GraphNodeBody> = {}): GraphNodeBody => ({
  id,
  task_name: name,
  state: 'SUCCESS',
  engine_state: null,
  flags: [],
  sent_at: null,
  received_at: null,
  eta: null,
  started_at: null,
  finished_at: null,
  duration_ms: null,
  wait_ms: null,
  retries: null,
  queue: null,
  worker: null,
  args_preview: null,
  kwargs_preview: null,
  result_preview: null,
  traceback_preview: null,
  stamps_preview: null,
  parent_id: null,
  root_id: null,
  kind: null,
  members: null,
  ...more,
});

/** An edge of a graph. */
export const edge = (source: string, target: string, kind = 'child'): GraphEdgeBody => ({
  id: `${source}->${target}:${kind}`,
  source,
  target,
  kind,
});
