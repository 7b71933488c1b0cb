/**
 * Recognizes failures that Celery stored for tasks that never ran. When a step of a chain fails, its worker stores the
 * same exception and traceback for each step behind it, right after the failure of the step itself, the last step
 * first (celery/backends/base.py, `mark_as_failure`). Nothing in such a result names the failed step, and without
 * `result_extended` nothing shows that its task never ran.
 *
 * It follows from the received messages: a task whose failure repeats that of another one, and that no message has
 * mentioned, never ran, if tasks of the same code send events when they run. Equal tracebacks prove that it would be
 * the same code. Events may arrive after results, so the failure is recorded at once and marked when this is known.
 */
import { createHash } from 'node:crypto';
import type { CollectedHistory, TaskChange } from '../../../history/history.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type { StoredResult } from '../protocol/messages.ts';

/** How long after its last failure a burst is judged, and after its first at the latest. Milliseconds. */
const SETTLED_MS = 1_500;
const LONGEST_MS = 5_000;
const TICK_MS = 250;
/** Most failures of one burst, and of all, that are remembered. */
const MAX_FAILURES = 500;
const MAX_REMEMBERED = 20_000;

/** Observes published results. */
export type PropagatedFailures = ReturnType<typeof createPropagatedFailures>;

/** A failure of a burst. */
interface Failure {
  readonly id: string;
  readonly time: number;
  /** Another message than this result has mentioned its task, so it ran. */
  isHeard: boolean;
  /** Its result may be that of a task that never ran. */
  readonly isStep: boolean;
}

/** Failures with the same exception and traceback, one soon after another, in the order in which they were stored. */
interface Burst {
  readonly failures: Map<string, Failure>;
  readonly beganAt: number;
  lastAt: number;
  isWhole: boolean;
}

interface State {
  readonly history: CollectedHistory;
  readonly isDeaf: () => boolean;
  readonly found: (failedId: string, steps: readonly string[]) => void;
  readonly bursts: Map<string, Burst>;
  /** Failures of tasks without other messages, by the id of their task. */
  readonly unheard: Map<string, Failure>;
  /** Failures in all bursts. */
  count: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * @param history in which tasks that never ran are marked
 * @param isDeaf whether tasks may run without events, or received events are not recorded yet: then nothing follows from
 *   silence
 * @param found receives the steps that never ran because a task failed, in the order of their chain
 */
export function createPropagatedFailures(
  history: CollectedHistory,
  isDeaf: () => boolean,
  found: (failedId: string, steps: readonly string[]) => void,
) {
  const maps = { bursts: new Map<string, Burst>(), unheard: new Map<string, Failure>() };
  const state: State = { history, isDeaf, found, ...maps, count: 0, timer: undefined };
  return {
    /** A published result, before it is recorded. */
    published: (result: StoredResult) => take(state, result),
    /** An event about a task was received, or its message was found in a queue. */
    heard(id: string) {
      const failure = state.unheard.get(id);
      if (failure !== undefined) failure.isHeard = true;
    },
    /** Results may have been missed: those published before and after do not belong together. */
    missed() {
      for (const burst of state.bursts.values()) burst.isWhole = false;
    },
    /** Marks nothing more. */
    close() {
      clearInterval(state.timer);
      state.bursts.clear();
      state.unheard.clear();
    },
  };
}

function take(state: State, result: StoredResult): void {
  const { id, type, time, isConsequence } = result.change;
  const key = type === 'failed' ? keyOf(result.change) : null;
  if (key === null || time === null) return;
  const known = state.bursts.get(key);
  const isHeard = state.history.index.stateOf(id) !== null;
  const isStep = !isHeard && mayNeverHaveRun(result);
  // The failure that is repeated is stored first.
  if (known === undefined && isStep && isConsequence === true) return;
  if (known?.failures.has(id) === true) return;
  if (state.count >= MAX_REMEMBERED || (known?.failures.size ?? 0) >= MAX_FAILURES) {
    if (known !== undefined) known.isWhole = false;
    return;
  }
  const burst = known ?? begin(state, key);
  const failure: Failure = { id, time, isHeard, isStep };
  burst.failures.set(id, failure);
  burst.lastAt = performance.now();
  state.count += 1;
  if (!isHeard) state.unheard.set(id, failure);
}

/** @returns `null` for a failure that may be equal to that of other code */
function keyOf({ exception, traceback }: TaskChange): string | null {
  if (typeof exception !== 'string') return null;
  const isUnique =
    typeof traceback === 'string' || (exception.startsWith('WorkerLostError(') && JOB.test(exception));
  if (!isUnique) return null;
  return createHash('sha1')
    .update(exception)
    .update('\0')
    .update(traceback ?? '')
    .digest('base64');
}

/** A worker reports by its number which of its jobs was lost, and has no traceback. */
const JOB = /\bJob: \d+/;

/** Celery stores no worker, parent or children for such a task, and the worker only with `result_extended`. */
function mayNeverHaveRun({ change, children }: StoredResult): boolean {
  const { worker, parentId, name, isConsequence } = change;
  if (worker != null || parentId != null || children.length > 0) return false;
  return isConsequence === true || name == null;
}

function begin(state: State, key: string): Burst {
  const now = performance.now();
  const burst: Burst = { failures: new Map(), beganAt: now, lastAt: now, isWhole: true };
  state.bursts.set(key, burst);
  state.timer ??= setInterval(() => tick(state), TICK_MS).unref();
  return burst;
}

function tick(state: State): void {
  const now = performance.now();
  for (const [key, burst] of state.bursts) {
    const { failures, beganAt, lastAt } = burst;
    const isLong = now - beganAt >= LONGEST_MS || failures.size >= MAX_FAILURES;
    if (!isLong && now - lastAt < SETTLED_MS) continue;
    state.bursts.delete(key);
    end(state, burst);
  }
  if (state.bursts.size > 0) return;
  clearInterval(state.timer);
  state.timer = undefined;
}

/** Judges a burst, and marks its failures of tasks that never ran. */
function end(state: State, burst: Burst): void {
  const failures = [...burst.failures.values()];
  state.count -= failures.length;
  for (const { id } of failures) state.unheard.delete(id);
  const ran = failures.filter(({ isStep, isHeard }) => !isStep || isHeard);
  if (ran.length === 0 || !ran.every(({ isHeard }) => isHeard) || state.isDeaf()) return;
  const neverRan = failures.filter(({ isHeard }) => !isHeard);
  void scheduler.run('results', mark(state, neverRan));
  const [failed, ...steps] = failures;
  // Of several tasks that failed in the same way, nothing shows which one a step was behind.
  if (failed === undefined || steps.length === 0 || ran.length > 1 || !burst.isWhole || ran[0] !== failed)
    return;
  state.found(failed.id, steps.map(({ id }) => id).reverse());
}

function* mark({ history }: State, failures: readonly Failure[]): Steps<void> {
  for (const { id, time } of failures) {
    history.writer.recordTask({
      id,
      type: 'failed',
      time,
      origin: 'result',
      stored: true,
      isConsequence: true,
    });
    yield;
  }
}
