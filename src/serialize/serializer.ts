/** The only bridge from the model to the wire: nulls, previews and redaction happen here. */
import type { Graph, GraphNode } from '../graph.ts';
import type { Component, Queue, Schedule, Task, TaskDetail, TaskEvent, TaskTree, Worker } from '../model.ts';
import type { Redactor } from '../redact.ts';
import type { TaskStats } from '../source.ts';
import type {
  ComponentBody,
  EventBody,
  QueueBody,
  RelationBody,
  ScheduleBody,
  TaskBody,
  TaskDetailBody,
  TaskStatsBody,
  WorkerBody,
} from '../wire.ts';
import { componentBody, queueBody } from './components.ts';
import { eventBody, scheduleBody, workerBody } from './deployment.ts';
import { createMatcher } from './matcher.ts';
import { createRowCache } from './row-cache.ts';
import { createShowText, mostRead } from './shown-text.ts';
import { statsBody } from './stats.ts';
import { taskBody, taskDetailBody } from './tasks.ts';
import { type GraphParts, graphParts, relationBodies, type UpdateParts, updateParts } from './workflow.ts';

// Longest sentence that a source chose to show.
const SENTENCE = 1_024;

/** What a serializer is made of. */
export interface SerializerOptions {
  readonly redactor: Redactor;
  /** Longest text of a value in lists and graphs, in characters. Default 256. */
  readonly preview?: number;
  /** Longest text of a value elsewhere, in characters. Default 65,536. */
  readonly detail?: number;
}

/**
 * Turns what sources give into what clients get. Every method takes anything: what is not of its type is
 * shown as `null`, and an item without what it cannot do without (an id, a state …) gives `null`.
 */
export interface Serializer {
  /** A row of the task list. `null` when it has no id or no state. */
  taskRow(task: Task, source: string): TaskBody | null;
  /** The same row as JSON text. A row of the same frozen object and source is made once. */
  taskRowJson(task: Task, source: string): string | null;
  taskDetail(task: TaskDetail, source: string): Omit<TaskDetailBody, 'sources'> | null;
  /** `null` when the figures are no figures. */
  stats(stats: TaskStats): TaskStatsBody | null;
  relations(tree: TaskTree): RelationBody[];
  graph(graph: Graph): GraphParts;
  updates(graph: Graph, changes: { nodes: readonly GraphNode[]; topologyChanged: boolean }): UpdateParts;
  /** `null` when it has no hostname or no status. */
  worker(worker: Worker, source: string, now: Date): WorkerBody | null;
  /** `null` when it has no id or no type. */
  event(event: TaskEvent): EventBody | null;
  /** `null` when it has no id or no name. */
  schedule(schedule: Schedule, source: string): ScheduleBody | null;
  /** `null` when it has no key, no name or no status. */
  component(component: Component): ComponentBody | null;
  /** `null` when it has no name. */
  queue(queue: Queue, source: string, now: Date): QueueBody | null;
  /** A sentence that a source chose to show, redacted and cut. */
  sentence(text: string): string;
  /**
   * A function that tells whether a task has a text in its id, name, worker, args or kwargs as a list row
   * shows them.
   *
   * @param q lower case
   */
  matcher(q: string): (task: Task) => boolean;
}

export function createSerializer({
  redactor,
  preview = 256,
  detail = 65_536,
}: SerializerOptions): Serializer {
  const showPreview = createShowText(redactor, preview);
  const showDetail = createShowText(redactor, detail);
  const showSentence = createShowText(redactor, SENTENCE);
  const caches = new Map<string, ReturnType<typeof createRowCache>>();

  function taskRow(task: Task, source: string): TaskBody | null {
    return readable(() => taskBody(task, source, showPreview));
  }

  function rowsOf(source: string): ReturnType<typeof createRowCache> {
    const cache = caches.get(source) ?? createRowCache();
    caches.set(source, cache);
    return cache;
  }

  return {
    taskRow,
    taskRowJson: (task, source) =>
      rowsOf(source).get(task, () => {
        const row = taskRow(task, source);
        return row === null ? null : JSON.stringify(row);
      }),
    taskDetail: (task, source) => readable(() => taskDetailBody(task, source, showDetail)),
    stats: (stats) => readable(() => statsBody(stats)),
    relations: relationBodies,
    graph: (graph) => graphParts(graph, showPreview, redactor),
    updates: updateParts,
    worker: (worker, source, now) => readable(() => workerBody(worker, source, now)),
    event: (event) => readable(() => eventBody(event, showPreview)),
    schedule: (schedule, source) => readable(() => scheduleBody(schedule, source, showPreview)),
    queue: (queue, source, now) => readable(() => queueBody(queue, source, now)),
    component: (component) => readable(() => componentBody(component, redactor)),
    sentence: (text) => showSentence(text, 'error').text ?? '',
    matcher: (q) => createMatcher(q, showPreview, redactor, mostRead(preview)),
  };
}

/** A throwing getter, a Proxy, no object at all: `null`. */
function readable<Body>(read: () => Body | null): Body | null {
  try {
    return read();
  } catch {
    return null;
  }
}
