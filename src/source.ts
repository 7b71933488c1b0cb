/**
 * What a host implements to show its own queue: plain objects with read functions, async or not. Every part is
 * optional; a route without its part answers 501.
 */

import type { MonitorErrorCode } from './errors.ts';
import type {
  Component,
  HealthCheck,
  Queue,
  Schedule,
  TaskDetail,
  TaskEvent,
  TaskTree,
  Worker,
  WorkerHealthCheck,
} from './model.ts';
import type { RedactFunction, RedactOptions } from './redact.ts';
import type { Activity, Meter, MeterOptions } from './source/experimental.ts';
import type { TaskCapabilities, TaskPage, TaskQuery } from './source/task-query.ts';
import type { TaskStats, TaskStatsQuery } from './source/task-stats.ts';

export type * from './source/experimental.ts';
export type { Comparison, ConditionFigure, ConditionText, TaskCondition } from './source/task-condition.ts';
export type {
  TaskCapabilities,
  TaskFilter,
  TaskPage,
  TaskPosition,
  TaskQuery,
  TaskSort,
} from './source/task-query.ts';
export type * from './source/task-stats.ts';

/** A value or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;

/** Given to every read. */
export interface ReadContext {
  /** Aborted at the time limit, and when the last waiting client has disconnected. */
  readonly signal: AbortSignal;
}

/** How current a source is. Read before and after each read of data, so it must be fast and must not throw. */
export interface SourceStatus {
  /** False while its server is unreachable; its data is then shown as old. */
  readonly ok: boolean;
  /** When it was last known to be current; `null` if it never was. */
  readonly asOf: Date | null;
  /** Why `ok` is false. Default: `source_unavailable`. */
  readonly error?: MonitorErrorCode | null;
  /** Why `ok` is false, as a sentence for the host's `onError`; clients never see it. Default: none. */
  readonly reason?: string | null;
  /**
   * Changes whenever an answer of this part could change other than by the clock. With it, unchanged answers are not
   * computed again; without it, every request reads the source.
   */
  readonly revision?: string | number;
  /** The next time at which the clock alone changes an answer (a flag, a worker's status). Default: never. */
  readonly changesAt?: Date | null;
}

/** What all parts of a source have in common. */
export interface SourcePart {
  /** Name of the source in `sources` and in each row, such as `celery`. 1 to 64 of `A-Z a-z 0-9 _ -`. */
  readonly name: string;
  /** The queueing system that it reads, such as `celery` or `bullmq`; clients use its terms. Default: unknown. */
  readonly engine?: string;
  /** Default: `ok`, and current at the time of each read. */
  status?(): SourceStatus;
}

/** Tasks: the list, one task, its workflow. */
export interface TaskSource extends SourcePart {
  /**
   * Whether `listTasks` and `getTaskStats` apply `query.conditions` themselves. Default: no; then `query.search`
   * applies them, too, and `query.q` is never `null` if there are any.
   */
  readonly knowsConditions?: boolean;
  /** What `listTasks` and `getTaskStats` support. Default: everything. */
  readonly capabilities?: TaskCapabilities;
  /** Called for `/api/tasks/`. For tasks in an array, use `selectTasks`. */
  listTasks(query: TaskQuery, context: ReadContext): Awaitable<TaskPage>;
  /** Called for `/api/tasks/{task_id}/`; `null` when this id is not known. */
  getTask(id: string, context: ReadContext): Awaitable<TaskDetail | null>;
  /** Called for relations, graph and graph updates; `null` when this id is not known. Absent: 501. */
  getTaskTree?(id: string, context: ReadContext): Awaitable<TaskTree | null>;
  /**
   * Called for `stats`. Absent: `stats` is `null`, and the page has no figures. For tasks in an array, use
   * `summarizeTasks`.
   */
  getTaskStats?(query: TaskStatsQuery, context: ReadContext): Awaitable<TaskStats>;
}

/** Workers, called for `/api/workers/`. */
export interface WorkerSource extends SourcePart {
  listWorkers(context: ReadContext): Awaitable<readonly Worker[]>;
}

/** Which items of the feed to list. */
export interface TaskEventQuery {
  /** 1 to 1000. */
  readonly limit: number;
  /**
   * `null`: the newest `limit` items. A cursor that this source issued, or a moment: the **oldest** `limit` items
   * after it. Items that arrived in the same millisecond count as after it.
   */
  readonly since: { readonly cursor: string } | { readonly time: Date } | null;
  readonly states: readonly string[];
  readonly workers: readonly string[];
  /** Task names. */
  readonly tasks: readonly string[];
}

/** A part of the feed, newest first. */
export interface TaskEventPage {
  readonly events: readonly TaskEvent[];
  /** Opaque position after the newest listed item; if no item is listed, the requested position. */
  readonly cursor: string;
  /** True when items after `since` are no longer available or were missed. */
  readonly gap: boolean;
}

/** The activity feed, called for `/api/events/latest/`. */
export interface TaskEventSource extends SourcePart {
  /**
   * If the source does not know the cursor (it was restarted, or the cursor is too old), it returns all items
   * that it has, with `gap: true`.
   */
  listEvents(query: TaskEventQuery, context: ReadContext): Awaitable<TaskEventPage>;
}

/** Periodic schedules, called for `/api/beat/schedules/`. Absent: beat is not enabled. */
export interface ScheduleSource extends SourcePart {
  /**
   * `null`: this deployment runs no beat, and the route answers `enabled: false`; an empty list: it has no entries.
   */
  listSchedules(context: ReadContext): Awaitable<readonly Schedule[] | null>;
}

/** Checks, called for `/healthcheck`. A check that is absent is not configured (`ok: null`). */
export interface HealthSource extends SourcePart {
  checkBroker?(context: ReadContext): Awaitable<HealthCheck>;
  checkBackend?(context: ReadContext): Awaitable<HealthCheck>;
  /** `ping`: the host allows control pings (`health: { ping: true }`); otherwise use heartbeats. */
  checkWorkers?(context: ReadContext & { readonly ping: boolean }): Awaitable<WorkerHealthCheck>;
}

/** Queues, shown as the component `queues` of `/api/components/`. */
export interface QueueSource extends SourcePart {
  /** Every queue of the deployment, each name once, in any order. */
  listQueues(context: ReadContext): Awaitable<readonly Queue[]>;
}

/** Parts of the deployment, called for `/api/components/`. */
export interface ComponentSource extends SourcePart {
  listComponents(context: ReadContext): Awaitable<readonly Component[]>;
}

/** Figures about the data that a source holds in memory; shown as the component `history`. */
export interface HistoryStats {
  readonly tasks: number;
  readonly workers: number;
  readonly events: number;
  /** When the source started to receive events. */
  readonly since: Date | null;
  /** Tasks dropped because of count, age or bytes. */
  readonly evicted: number;
  /** Estimated size of all data in memory, in bytes. */
  readonly bytes: number;
  readonly eventsReceived: number;
  /** Messages that could not be read, by reason or in sum. */
  readonly dropped: number;
  /** How long the newest change took from its sender to the monitor, in seconds; `null` without a change. */
  readonly lagSeconds: number | null;
}

/** Called for the `history` component. */
export interface HistorySource extends SourcePart {
  getHistoryStats(context: ReadContext): Awaitable<HistoryStats>;
}

/** A text that is kept outside the process, and which instance may write it. */
export interface SharedNotes {
  /**
   * Whether this instance acts for all now. `null`: no instance does, or it is unknown because the store does not
   * answer; the instance that did before continues.
   */
  isHolder(): boolean | null;
  /** @returns the last text written by any instance; `null`: none. Rejects if the store does not answer */
  read(): Promise<string | null>;
  /** Replaces the text. Rejects if the store does not answer. */
  write(text: string): Promise<void>;
  /** Lets another router of this process use the text. */
  close(): void;
}

/**
 * Calls whose form is not settled: they are exempt from semantic versioning, and may change or go in any version. Their
 * types have no public names.
 */
export interface ExperimentalSource extends SourcePart {
  /** Called for the component `findings`, at most every few seconds. Absent: the rules that need it are `unknown`. */
  getActivity?(context: ReadContext): Awaitable<Activity>;
  /**
   * Called once by each router that exports its own metrics. Without an open meter, nothing is counted. Absent: the
   * source has no series in `/metrics`.
   */
  openMeter?(options: MeterOptions): Meter;
  /**
   * Called once by each router with `onFinding`: lets one instance report the findings of this source for all.
   * Absent: each instance reports its own findings.
   */
  openNotes?(): SharedNotes;
}

/**
 * What `createMonitorRouter({ sources })` accepts. Several bundles are shown with `combineSources`. One part is replaced
 * by spreading: `{ ...celerySources({ broker }), schedules: mySchedules }`.
 */
export interface MonitorSources {
  readonly tasks?: TaskSource;
  readonly workers?: WorkerSource;
  readonly events?: TaskEventSource;
  readonly schedules?: ScheduleSource;
  readonly health?: HealthSource;
  readonly queues?: QueueSource;
  readonly components?: ComponentSource;
  readonly history?: HistorySource;
  /** Exempt from semantic versioning. */
  readonly experimental?: ExperimentalSource;
  /**
   * Which values in all that these sources give are shown as `***`: an object extends the built-in rules, a function
   * replaces them, `false` masks nothing. Items with `redacted: true` stay as they are. Default: the built-in rules.
   */
  readonly redact?: RedactOptions | RedactFunction | false;
  /** Called once, when the last router that shows these sources is closed. */
  close?(): Awaitable<void>;
}
