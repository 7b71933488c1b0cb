/**
 * Reads of the store: a few at once, each with a deadline, so that the readers of the monitor never take all
 * connections of the host's pool. A failure becomes an error of the API.
 */
import { isMonitorError, MonitorError } from '../../../errors.ts';
import type { ReadContext } from '../../../source.ts';
import { pause, waitFor } from '../../../waiting.ts';
import type { StoreSession } from '../../store.ts';

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
export interface StoreReads {
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
export function createStoreReads({ session, noteRead }: ReadsOptions): StoreReads {
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
