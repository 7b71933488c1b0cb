/**
 * What reads over memory and a store use. Functions are called with every read: they are cheap. The store is read a few
 * times at once, each with a deadline, so that the readers of the monitor never take all connections of the host's pool.
 * A failure becomes an error of the API.
 */
import { isMonitorError, MonitorError } from '../../../errors.ts';
import { createLruCache } from '../../../lru-cache.ts';
import type { ReadContext } from '../../../source.ts';
import { pause, waitFor } from '../../../waiting.ts';
import type { RecordStep } from '../../merge/merge.ts';
import type { StoreSession } from '../../store.ts';
import type { Hearing } from '../../stored-history.ts';
import { isShared, ownNow, type StoredState, stepsOf } from '../stored-state.ts';

/** The context of every read. */
export type ReaderContext = ReturnType<typeof createContext>;

export function createContext(state: StoredState) {
  const { access, options, calls, tasks } = state;
  const session = (): StoreSession | null => state.session;
  return {
    memory: access,
    reads: createStoreReads({ session, noteRead: (error) => calls.note('read', error) }),
    /** Which tasks the store has been found to know, or not to know. */
    known: createKnownIds(),
    /** `null`: the store has not been opened yet. Calls of a session reject while the database is unreachable. */
    session,
    hearing: (): Hearing => state.hearing,
    /** For how long the store keeps what is written. */
    retention: options.store.retention,
    /** Milliseconds since 1970, by the clock of this instance. */
    now: (): number => ownNow(state),
    /**
     * Tasks that changed later are all in memory. `Infinity` while memory is being filled, while other instances write
     * changes that this one does not receive, and if it receives nothing. `-Infinity`: memory knows all that the store
     * does.
     */
    droppedThrough: (): number =>
      state.isLoading || isShared(state) ? Number.POSITIVE_INFINITY : access.droppedThrough(),
    /** Ids of the tasks that wait to be written. */
    unwritten(): Iterable<string> {
      access.catchUp();
      return tasks.changed.keys();
    },
    /** What this process was told of a task that no stored version is known to have. */
    stepsOf: (id: string): readonly RecordStep[] => stepsOf(tasks, id),
    /** Since when there are counts over time in the store; `null`: there are none, or the store was not asked yet. */
    countedSince: (): Date | null => state.countedSince,
  };
}

const MOST_REMEMBERED = 10_000;
/** How long an answer of the store is valid, in milliseconds. */
const HOLDS_MS = 30_000;

/** Collectors ask for the same ids again and again, so what the store has answered is remembered for a while. */
function createKnownIds() {
  const answers = createLruCache<{ readonly isKnown: boolean; readonly at: number }>({
    entries: MOST_REMEMBERED,
  });
  return {
    /** Whether the store knows a task; `null`: it was not asked, or too long ago. */
    get(id: string): boolean | null {
      const answer = answers.get(id);
      return answer === undefined || performance.now() - answer.at > HOLDS_MS ? null : answer.isKnown;
    },
    set: (id: string, isKnown: boolean): void => answers.set(id, { isKnown, at: performance.now() }),
  };
}

/** Most reads at once. */
const MOST_AT_ONCE = 8;
/** Most reads that wait for their turn. */
const MOST_WAITING = 128;
/** Longest wait for a turn, in milliseconds. */
const MOST_WAIT_MS = 2_000;
/** Longest read, in milliseconds. The client of the database may answer later, or never. */
const DEADLINE_MS = 8_000;
/** A read that never ends gives its turn back after this many milliseconds. */
const GIVEN_UP_MS = 30_000;
/** For how long after the start reads wait until the store is open, in milliseconds. */
const OPENING_MS = 2_000;
/** Between two checks whether it is open, in milliseconds. */
const LOOK_MS = 20;

/** Reads from the store. */
interface StoreReads {
  /**
   * Waits for a turn and reads.
   *
   * @param ms longest read, in milliseconds: shorter if memory also has an answer
   * @returns rejects with a MonitorError: `source_unavailable`, `source_timeout` or `overloaded`; with the reason of
   *   the signal when that aborts
   */
  read<Result>(
    read: (session: StoreSession) => Promise<Result>,
    context: ReadContext,
    ms?: number,
  ): Promise<Result>;
}

/** The store that is read. */
interface ReadsOptions {
  session(): StoreSession | null;
  noteRead(error: unknown): void;
}

interface State extends ReadsOptions {
  readonly startedAt: number;
  running: number;
  /** Starts those that wait, oldest first. */
  readonly waiting: Set<() => void>;
}

/** Whether an error says that the store cannot be read now, so that memory answers alone where it can. */
export function isStoreAway(error: unknown): boolean {
  return isMonitorError(error) && (error.code === 'source_unavailable' || error.code === 'source_timeout');
}

/** @returns no reads under way */
function createStoreReads({ session, noteRead }: ReadsOptions): StoreReads {
  const state: State = { session, noteRead, startedAt: performance.now(), running: 0, waiting: new Set() };
  return {
    async read(read, { signal }, ms = DEADLINE_MS) {
      signal.throwIfAborted();
      const opened = await openedSession(state, signal);
      await takeTurn(state, signal);
      const reading = (async () => read(opened))();
      void giveBack(state, reading);
      return await within(state, reading, signal, ms);
    },
  };
}

async function openedSession({ session, startedAt }: State, signal: AbortSignal): Promise<StoreSession> {
  for (;;) {
    const opened = session();
    if (opened !== null) return opened;
    if (performance.now() - startedAt > OPENING_MS) break;
    await pause(LOOK_MS, signal);
    signal.throwIfAborted();
  }
  throw new MonitorError('source_unavailable', 'The history store has not been opened.');
}

async function takeTurn(state: State, signal: AbortSignal): Promise<void> {
  if (state.running < MOST_AT_ONCE) {
    state.running++;
    return;
  }
  if (state.waiting.size >= MOST_WAITING) throw new MonitorError('overloaded');
  let start = (): void => {};
  const turn = new Promise<void>((resolve) => {
    start = resolve;
  });
  state.waiting.add(start);
  await waitFor(turn, { ms: MOST_WAIT_MS, signal });
  // The read that ends removes the waiter from the list, and the number of running reads stays the same.
  const hasTurn = !state.waiting.delete(start);
  if (hasTurn && signal.aborted) endTurn(state);
  signal.throwIfAborted();
  if (!hasTurn) throw new MonitorError('overloaded');
}

async function giveBack(state: State, reading: Promise<unknown>): Promise<void> {
  await waitFor(reading, { ms: GIVEN_UP_MS });
  endTurn(state);
}

function endTurn(state: State): void {
  const [next] = state.waiting;
  if (next === undefined) {
    state.running--;
    return;
  }
  state.waiting.delete(next);
  next();
}

async function within<Result>(
  { noteRead }: State,
  reading: Promise<Result>,
  signal: AbortSignal,
  ms: number,
): Promise<Result> {
  const outcome: { get: (() => Result) | null } = { get: null };
  reading.then(
    (result) => {
      noteRead(null);
      outcome.get = () => result;
    },
    (error: unknown) => {
      noteRead(error);
      outcome.get = () => {
        throw asMonitorError(error);
      };
    },
  );
  await waitFor(reading, { ms, signal });
  signal.throwIfAborted();
  if (outcome.get !== null) return outcome.get();
  const error = new MonitorError('source_timeout', 'The history store did not answer in time.');
  noteRead(error);
  throw error;
}

/** Errors of stores are sentences without secrets; those of drivers may be anything. */
function asMonitorError(error: unknown): MonitorError {
  if (isMonitorError(error)) return error;
  const reason = error instanceof Error && error.name === 'StoreError' ? ` ${error.message}` : '';
  return new MonitorError('source_unavailable', `The history store cannot be read.${reason}`);
}
