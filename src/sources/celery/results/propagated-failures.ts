/**
 * Recognizes failures that Celery stored for tasks that never ran. When a step of a chain fails, its worker stores the
 * same exception and traceback for each step behind it, right after the failure of the step itself, the last step
 * first (celery/backends/base.py, `mark_as_failure`). Nothing in such a result names the failed step, and without
 * `result_extended` nothing shows that its task never ran.
 *
 * It follows from the received messages: a task whose failure repeats that of another one, and that no message has
 * mentioned, never ran, if tasks of the same code send events when they run. Equal tracebacks prove that it would be
 * the same code.
 */
import { createHash } from 'node:crypto';
import type { HistoryIndex, TaskChange } from '../../../history/history.ts';
import { createMessageQueue, type MessageQueue } from '../message-queue.ts';
import type { StoredResult } from '../protocol/messages.ts';

/** How long after its last failure a burst is judged: events may arrive after results. Milliseconds. */
const SETTLED_MS = 1_500;
/** How long a result is held at most, in milliseconds. */
const LONGEST_MS = 5_000;
const TICK_MS = 250;
/** Most bursts and most failures of one that are remembered. */
const MAX_BURSTS = 2_000;
const MAX_FAILURES = 500;
/** Most that all of them may take, in characters: about 20,000 failures, or fewer results that are held. */
const MAX_SIZE = 4 * 1024 * 1024;
const FAILURE_SIZE = 200;

/** Parameters of the decision. */
export interface PropagatedFailuresOptions {
  readonly index: Pick<HistoryIndex, 'stateOf'>;
  /**
   * Whether tasks may run without events, or received events are not recorded yet: then nothing follows from silence.
   */
  readonly isDeaf: () => boolean;
  /** Records a result that was held. */
  readonly release: (result: StoredResult) => void;
  /** Receives the steps that never ran because a task failed, in the order of their chain. */
  readonly found: (failedId: string, steps: readonly string[]) => void;
}

/** Judges published results before they are recorded. */
export interface PropagatedFailures {
  /**
   * @param result a published result
   * @returns whether it is held, to be released within seconds. Any other must be recorded now
   */
  take(result: StoredResult): boolean;
  /** An event about a task was received. */
  heard(id: string): void;
  /** Results may have been missed: those published before and after do not belong together. */
  missed(): void;
  /** Releases nothing more. */
  close(): void;
}

/** A failure of a burst. */
interface Failure {
  readonly id: string;
  /** Another message than this result has mentioned its task, so it ran. */
  isHeard: boolean;
  /** Its result may be that of a task that never ran. */
  readonly isStep: boolean;
  /** The result, while it is held. */
  readonly held: StoredResult | null;
  /** In characters. */
  readonly size: number;
}

/** Failures with the same exception and traceback, one soon after another, in the order in which they were stored. */
interface Burst {
  readonly failures: Map<string, Failure>;
  readonly beganAt: number;
  lastAt: number;
  isWhole: boolean;
}

interface State {
  readonly options: PropagatedFailuresOptions;
  readonly bursts: Map<string, Burst>;
  /** Failures of tasks without other messages, by the id of their task. */
  readonly unheard: Map<string, Failure>;
  /** Judged results on their way to the history: a burst may have many. */
  readonly releases: MessageQueue<{ readonly result: StoredResult; readonly size: number }>;
  /** Size of the failures, in characters. */
  size: number;
  timer: NodeJS.Timeout | undefined;
}

export function createPropagatedFailures(options: PropagatedFailuresOptions): PropagatedFailures {
  const releases: State['releases'] = createMessageQueue({
    kind: 'results',
    // Waiting results count as held, which is already bounded.
    sizeOf: () => 0,
    take({ result, size }) {
      state.size -= size;
      options.release(result);
      return null;
    },
    lost() {},
  });
  const state: State = {
    options,
    bursts: new Map(),
    unheard: new Map(),
    releases,
    size: 0,
    timer: undefined,
  };
  return {
    take: (result) => take(state, result),
    heard(id) {
      const failure = state.unheard.get(id);
      if (failure !== undefined) failure.isHeard = true;
    },
    missed() {
      for (const burst of state.bursts.values()) burst.isWhole = false;
    },
    close() {
      clearInterval(state.timer);
      releases.close();
      state.bursts.clear();
      state.unheard.clear();
    },
  };
}

function take(state: State, result: StoredResult): boolean {
  const { change } = result;
  const key = change.type === 'failed' && change.time !== null ? keyOf(change) : null;
  if (key === null) return false;
  const known = state.bursts.get(key);
  const isHeard = state.options.index.stateOf(change.id) !== null;
  const isStep = !isHeard && mayNeverHaveRun(result);
  // The failure that is repeated is stored first.
  if (known === undefined && isStep && change.isConsequence === true) return false;
  const burst = known ?? begin(state, key);
  const before = burst.failures.get(change.id);
  if (before !== undefined) return before.held !== null;
  const isHeld = isStep && known !== undefined && change.isConsequence !== true;
  const size = FAILURE_SIZE + (isHeld ? lengthOf(change) : 0);
  if (burst.failures.size >= MAX_FAILURES || state.size + size > MAX_SIZE) {
    burst.isWhole = false;
    return false;
  }
  const failure: Failure = { id: change.id, isHeard, isStep, held: isHeld ? result : null, size };
  burst.failures.set(change.id, failure);
  state.size += size;
  burst.lastAt = performance.now();
  if (!isHeard) state.unheard.set(change.id, failure);
  return isHeld;
}

function lengthOf({ exception, traceback }: TaskChange): number {
  return (exception?.length ?? 0) + (traceback?.length ?? 0);
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
  const [oldest] = state.bursts.keys();
  if (state.bursts.size > MAX_BURSTS && oldest !== undefined) end(state, oldest);
  state.timer ??= setInterval(() => tick(state), TICK_MS).unref();
  return burst;
}

function tick(state: State): void {
  const now = performance.now();
  for (const [key, { failures, beganAt, lastAt }] of state.bursts) {
    const isLong = now - beganAt >= LONGEST_MS || failures.size >= MAX_FAILURES;
    if (isLong || now - lastAt >= SETTLED_MS) end(state, key);
  }
  if (state.bursts.size > 0) return;
  clearInterval(state.timer);
  state.timer = undefined;
}

/** Judges a burst, and releases its held results. */
function end(state: State, key: string): void {
  const { options, bursts, unheard, releases } = state;
  const burst = bursts.get(key);
  bursts.delete(key);
  if (burst === undefined) return;
  const failures = [...burst.failures.values()];
  for (const failure of failures) {
    unheard.delete(failure.id);
    if (failure.held !== null && options.index.stateOf(failure.id) !== null) failure.isHeard = true;
  }
  const ran = failures.filter(({ isStep, isHeard }) => !isStep || isHeard);
  const areHeard = ran.length > 0 && ran.every(({ isHeard }) => isHeard) && !options.isDeaf();
  for (const { held, isHeard, size } of failures) {
    if (held === null) {
      state.size -= size;
      continue;
    }
    const isConsequence = areHeard && !isHeard;
    const result = isConsequence ? { ...held, change: { ...held.change, isConsequence } } : held;
    releases.push({ result, size });
  }
  const [failed, ...steps] = failures;
  // Of several tasks that failed in the same way, nothing shows which one a step was behind.
  if (failed === undefined || steps.length === 0 || ran.length > 1 || !burst.isWhole) return;
  if (areHeard && ran[0] === failed) {
    options.found(failed.id, steps.map(({ id }) => id).reverse());
  }
}
