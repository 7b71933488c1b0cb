/** What reads over memory and a store use. Functions are called with every read: they are cheap. */
import { createLruCache } from '../../../lru-cache.ts';
import type { RecordStep } from '../../merge/merge.ts';
import type { StoreSession } from '../../store.ts';
import type { Hearing } from '../../stored-history.ts';
import { isShared, ownNow, type StoredState } from '../stored-state.ts';
import { stepsOf } from '../task-backlog.ts';
import { createStoreReads } from './store-reads.ts';

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
