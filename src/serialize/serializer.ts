/** The only conversion from the model to the wire: missing values, previews and redaction are handled here. */
import type { Wait } from '../answers/queue-causes.ts';
import { causeOfTask, createCauseFinder } from '../causes/find-cause.ts';
import type { FoundProblem, RuleOutcome } from '../findings/evaluate.ts';
import type { JudgedTask } from '../findings/judge-running.ts';
import type { GraphNode } from '../graph.ts';
import type { Component, Queue, Schedule, Task, TaskCause, TaskDetail, TaskEvent, Worker } from '../model.ts';
import type { Redactor } from '../redact.ts';
import type { TaskStats } from '../source.ts';
import type { TaskBody, TaskMatchBody } from '../wire.ts';
import {
  componentBody,
  eventBody,
  findingBody,
  queueBody,
  ruleBody,
  runningTaskBody,
  scheduleBody,
  waitBody,
  workerBody,
} from './deployment.ts';
import { createShowText, rawText, rulesFor, wellFormed } from './shown-values.ts';
import { type StatsAsked, statsBody } from './stats.ts';
import { createFinder, createMatcher, taskBody, taskDetailBody } from './tasks.ts';
import { countsBody, graphEdgeBody, graphNodeBody, nodeUpdateBody, relationBody } from './workflow.ts';

// Maximum length, in characters, of a sentence from a source.
const SENTENCE = 1_024;

/** The serializer of one router. */
export type Serializer = ReturnType<typeof createSerializer>;

interface SerializerOptions {
  readonly redactor: Redactor;
  /** Maximum length of a text in lists and graphs, in characters. Default 256. */
  readonly preview?: number;
  /** Maximum length of a text elsewhere, in characters. Default 65,536. */
  readonly detail?: number;
}

/**
 * Creates the serializer of one router. It converts what sources return into bodies. Every method accepts any value: a
 * field of the wrong type becomes `null`, and so does an item without a required field (an id, a state …).
 */
export function createSerializer({ redactor, preview = 256, detail = 65_536 }: SerializerOptions) {
  const showPreview = createShowText(redactor, preview);
  const showDetail = createShowText(redactor, detail);
  const showSentence = createShowText(redactor, SENTENCE);
  const causeOf = createCauseReader(redactor);
  const rowsOf = createRowCaches();

  function sentence(text: string): string {
    return showSentence(text, 'error').text ?? '';
  }

  function taskRow(task: Task, source: string): TaskBody | null {
    return readable(() => taskBody(task, source, { show: showPreview, causeOf }));
  }

  return {
    /** A row of the task list. `null` when the task has no id or no state. */
    taskRow,
    /** The same row as JSON text. Rows of frozen tasks are cached per source. */
    taskRowJson: (task: Task, source: string): string | null =>
      readable(() => rowsOf(source).get(task, () => jsonOf(taskRow(task, source)))),
    taskDetail: (task: TaskDetail, source: string) =>
      readable(() => taskDetailBody(task, source, { show: showDetail, causeOf })),
    /** `null` when the statistics are unreadable. @param asked Default: none of the optional parts */
    stats: (stats: TaskStats, asked?: StatsAsked) => readable(() => statsBody(stats, showSentence, asked)),
    /** An id without lone surrogates. */
    id: wellFormed,
    relation: relationBody,
    graphNode: (node: GraphNode) => graphNodeBody(node, showPreview, redactor),
    graphEdge: graphEdgeBody,
    /** The fields of a node that can change. */
    nodeUpdate: nodeUpdateBody,
    counts: countsBody,
    worker: (worker: Worker, source: string, now: Date) => readable(() => workerBody(worker, source, now)),
    runningTask: (judged: JudgedTask, row: TaskBody | null) => readable(() => runningTaskBody(judged, row)),
    event: (event: TaskEvent) => readable(() => eventBody(event, showPreview)),
    schedule: (schedule: Schedule, source: string) =>
      readable(() => scheduleBody(schedule, source, showPreview)),
    component: (component: Component) => readable(() => componentBody(component, redactor)),
    queue: (queue: Queue, source: string, now: Date) => readable(() => queueBody(queue, source, now)),
    wait: (wait: Wait) => waitBody(wait, redactor, sentence),
    finding: (finding: FoundProblem) => findingBody(finding, redactor, sentence),
    rule: (outcome: RuleOutcome) => ruleBody(outcome, sentence),
    /** Redacts and truncates a sentence from a source. */
    sentence,
    /** The cause of a failure, from texts without secrets; `null` when the task has none, or is unreadable. */
    causeOf: (task: Task) => readable(() => causeOf(task)),
    /**
     * Creates a search for a text in id, name, worker, args, kwargs, exception and result of a task, as list rows
     * show them. It returns the field that contains the text; `null`: none does.
     *
     * @param q search text in lower case
     */
    finder(q: string) {
      const find = createFinder(q, showPreview);
      return (task: Task): TaskMatchBody | null => readable(() => find(task));
    },
    /**
     * The same search for several texts: whether a task contains all of them, and none of others.
     *
     * @param all in lower case, like `none`. Default of `none`: there are no others
     */
    matcher(all: readonly string[], none: readonly string[] = []) {
      const matches = createMatcher(all, none, showPreview);
      // The list cannot show a task that throws either.
      return (task: Task): boolean => readable(() => matches(task)) ?? false;
    },
  };
}

/** Maximum length of a value's text in which a cause is searched, in characters. */
const CAUSE_TEXT = 4_096;

function createCauseReader(redactor: Redactor): (task: Task) => TaskCause | null {
  const all = createCauseFinder(redactor.text);
  const masked = createCauseFinder(null);
  return (task) => {
    const isRedacted = task.redacted === true;
    const rules = rulesFor(redactor, isRedacted);
    return causeOfTask(task, isRedacted ? masked : all, (value) => rawText(value, CAUSE_TEXT, rules));
  };
}

function jsonOf(row: TaskBody | null): string | null {
  return row === null ? null : JSON.stringify(row);
}

/** `null` when reading throws: a throwing getter, a Proxy, a value that is not an object. */
function readable<Body>(read: () => Body | null): Body | null {
  try {
    return read();
  } catch {
    return null;
  }
}

// Enough for the pages that people view, far fewer than the tasks of a history.
const MOST_ROWS = 5_000;

/** The cache of each source. */
function createRowCaches() {
  const caches = new Map<string, ReturnType<typeof createRowCache>>();
  return (source: string) => {
    const cache = caches.get(source) ?? createRowCache();
    caches.set(source, cache);
    return cache;
  };
}

/**
 * Caches the JSON rows of frozen tasks, which cannot change, so that a list with few changes costs little.
 * Eviction works by two generations: a row that is not read while the young generation fills up is dropped
 * with the old one.
 */
function createRowCache(): {
  /** @param make creates a row that is not cached. `null` is not cached */
  get(task: Task, make: () => string | null): string | null;
} {
  let young = new WeakMap<Task, string>();
  let old = new WeakMap<Task, string>();
  let count = 0;

  function remember(task: Task, row: string): void {
    if (count >= MOST_ROWS) {
      old = young;
      young = new WeakMap();
      count = 0;
    }
    young.set(task, row);
    count += 1;
  }

  return {
    get(task, make) {
      // A Proxy can claim to be frozen and still return other values. Its first row is then kept.
      if (typeof task !== 'object' || !Object.isFrozen(task)) return make();
      const known = young.get(task);
      if (known !== undefined) return known;
      const row = old.get(task) ?? make();
      if (row !== null) remember(task, row);
      return row;
    },
  };
}
