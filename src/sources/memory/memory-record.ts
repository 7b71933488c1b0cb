import { type KeysOf, type OptionHints, refuseUnknownFields } from '../../check-options.ts';
import type { TaskChange, TaskChangeType } from '../../history/history.ts';
import { progressOf, type TaskState, traceIdOf } from '../../model.ts';
import { textOf } from '../../text.ts';

/** What a host records about one task. Omitted fields keep their recorded values. */
export interface MemoryRecord {
  /** Any non-empty string of at most 512 characters. */
  readonly id: string;
  /**
   * What happened: `PENDING` (sent), `RECEIVED`, `STARTED`, `RETRY`, `SUCCESS`, `FAILURE`, `REVOKED`,
   * `REJECTED`, or a state of the host's own, such as `PROGRESS`.
   */
  readonly state: TaskState;
  /** When it happened. Milliseconds if a number. Default: now. */
  readonly timestamp?: Date | number | undefined;
  readonly name?: string | null | undefined;
  readonly queue?: string | null | undefined;
  readonly worker?: string | null | undefined;
  /** Text is shown as it is, everything else as JSON. */
  readonly args?: unknown;
  readonly kwargs?: unknown;
  readonly result?: unknown;
  /** Why it failed or is retried. An `Error` gives exception and traceback. */
  readonly error?: unknown;
  /** Number of this attempt, 0 for the first. */
  readonly retries?: number | null | undefined;
  /** Seconds, as the queue measured it, of a task that has ended. Default: the time from start to end. */
  readonly runtime?: number | null | undefined;
  readonly eta?: Date | number | null | undefined;
  readonly expires?: Date | number | null | undefined;
  readonly parentId?: string | null | undefined;
  readonly rootId?: string | null | undefined;
  readonly groupId?: string | null | undefined;
  readonly chordId?: string | null | undefined;
  readonly kind?: 'map' | 'starmap' | 'chunks' | null | undefined;
  /**
   * Its progress: a percentage, or an object such as `{ current: 3, total: 10, text: 'resizing' }` or
   * `{ percent: 30 }`.
   */
  readonly progress?: unknown;
  /** The header of the W3C trace in which it was sent, `00-<trace id>-<span id>-<flags>`. Any other text is ignored. */
  readonly traceparent?: string | null | undefined;
  /** A note on this change, shown in the feed and the timeline. */
  readonly detail?: string | null | undefined;
}

// The compiler checks that every field is listed, so that none is rejected as unknown.
const FIELDS: KeysOf<MemoryRecord> = {
  id: true,
  state: true,
  timestamp: true,
  name: true,
  queue: true,
  worker: true,
  args: true,
  kwargs: true,
  result: true,
  error: true,
  retries: true,
  runtime: true,
  eta: true,
  expires: true,
  parentId: true,
  rootId: true,
  groupId: true,
  chordId: true,
  kind: true,
  progress: true,
  traceparent: true,
  detail: true,
};
/** What other queues and the API call these fields. */
const OTHER_NAMES: OptionHints = {
  exception: 'error',
  traceback: 'error',
  stack: 'error',
  reason: 'error',
  failedReason: 'error',
  task_id: 'id',
  taskId: 'id',
  task: 'name',
  type: 'name',
  status: 'state',
  data: 'args',
  hostname: 'worker',
  attempts: 'retries',
  message: 'detail',
  duration: 'runtime (in seconds)',
  at: 'timestamp',
  date: 'timestamp',
  returnValue: 'result',
  returnvalue: 'result',
  trace: 'traceparent',
};

const TYPE_OF: Readonly<Record<string, TaskChangeType>> = {
  PENDING: 'sent',
  RECEIVED: 'received',
  STARTED: 'started',
  RETRY: 'retried',
  SUCCESS: 'succeeded',
  FAILURE: 'failed',
  REVOKED: 'revoked',
  REJECTED: 'rejected',
};

const STATES = Object.keys(TYPE_OF).join(', ');

/** Other words for these states. As a custom state, each would leave the task unfinished for ever. */
const OTHER_WORDS: Readonly<Record<string, TaskState>> = {
  ...Object.fromEntries(Object.keys(TYPE_OF).map((state) => [state.toLowerCase(), state])),
  done: 'SUCCESS',
  ok: 'SUCCESS',
  complete: 'SUCCESS',
  completed: 'SUCCESS',
  finished: 'SUCCESS',
  succeeded: 'SUCCESS',
  failed: 'FAILURE',
  error: 'FAILURE',
  errored: 'FAILURE',
  cancelled: 'REVOKED',
  canceled: 'REVOKED',
};

function refuseOtherWord(state: string): void {
  const word = state.toLowerCase();
  if (!Object.hasOwn(OTHER_WORDS, word)) return;
  throw new TypeError(
    `record({ state: '${state}' }): write ${OTHER_WORDS[word]}. The states are ${STATES}, or one of your own.`,
  );
}

/** @throws TypeError that says what to write */
export function toTaskChange(record: MemoryRecord, now: () => number): TaskChange {
  if (typeof record !== 'object' || record === null) {
    throw new TypeError('record({ id, state }): write an object, such as { id: "1", state: "STARTED" }.');
  }
  refuseUnknownFields('record', record, FIELDS, OTHER_NAMES);
  const { id, state } = record;
  if (typeof id !== 'string' || id === '' || id.length > 512) {
    throw new TypeError("record({ id }): write the task's id, a string of 1 to 512 characters.");
  }
  if (typeof state !== 'string' || state === '') {
    throw new TypeError(`record({ state }): write ${STATES} or a state of your own.`);
  }
  const type = Object.hasOwn(TYPE_OF, state) ? (TYPE_OF[state] as TaskChangeType) : 'custom';
  if (type === 'custom') refuseOtherWord(state);
  const change: Record<string, unknown> = {
    id,
    type,
    time: timeOf('timestamp', record.timestamp) ?? now(),
    origin: 'event',
  };
  if (type === 'custom') {
    change.state = state;
    change.eventType = `task-${state.toLowerCase()}`;
  }
  for (const field of [
    'name',
    'queue',
    'worker',
    'parentId',
    'rootId',
    'groupId',
    'chordId',
    'detail',
    'kind',
  ] as const) {
    const value = record[field];
    if (value !== undefined) change[field] = value === null ? null : String(value);
  }
  for (const field of ['args', 'kwargs', 'result'] as const) {
    if (record[field] !== undefined) change[field] = record[field] === null ? null : textOf(record[field]);
  }
  for (const field of ['retries', 'runtime'] as const) {
    const value = record[field];
    if (typeof value === 'number' && Number.isFinite(value)) change[field] = value;
  }
  for (const field of ['eta', 'expires'] as const) {
    if (record[field] !== undefined) change[field] = timeOf(field, record[field]);
  }
  if (record.progress !== undefined) change.progress = progressOf(record.progress);
  if (record.traceparent !== undefined) change.traceId = traceIdOf(record.traceparent);
  if (record.error !== undefined && record.error !== null) addError(change, record.error);
  return change as unknown as TaskChange;
}

function addError(change: Record<string, unknown>, error: unknown): void {
  if (error instanceof Error) {
    change.exception = `${error.name}: ${error.message}`;
    if (typeof error.stack === 'string') change.traceback = error.stack;
  } else change.exception = textOf(error);
}

function timeOf(field: string, value: Date | number | null | undefined): number | null {
  if (value === undefined || value === null) return null;
  const time = Number(value);
  if (Number.isFinite(time)) return time;
  throw new TypeError(`record({ ${field} }): write a Date or milliseconds since 1970.`);
}
