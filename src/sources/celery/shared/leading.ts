/**
 * Selects the instance that collects: the holder of the lease of the history. Only this instance is connected to broker
 * and result backend, and it reports to the others. If it cannot reach the broker, it gives the lease up.
 */
import { debugChannel } from '../../../debug.ts';
import type { StoredHistory } from '../../../history/stored-history.ts';

const debug = debugChannel('celery');

const INTERVAL_MS = 500;
/** How long a leader tries to reach the broker before it gives the lease up, in milliseconds. */
const PATIENCE_MS = 3_000;
/** How long it then leaves the lease to others, and the maximum after several failures, in milliseconds. */
const REST_MS = 3_000;
const LONGEST_REST_MS = 30_000;

/** The work of a leader until it is closed. */
export interface Term {
  /** Whether it receives messages. */
  isListening(): boolean;
  /** Ends everything, connections included. */
  close(): Promise<void>;
}

/** Parameters of {@link createLeading}. */
export interface LeadingOptions<Own extends Term> {
  readonly history: Pick<
    StoredHistory,
    'isHolder' | 'hasOthers' | 'status' | 'wantLease' | 'onLease' | 'setHearing'
  >;
  /** Begins to collect. */
  readonly open: () => Own;
}

/** Follows the lease until it is closed. */
export interface Leading<Own extends Term> {
  /** The work of this instance as the leader; `null`: it is not the leader. */
  term(): Own | null;
  /** Increases with each beginning and each end of a term. */
  changes(): number;
  close(): Promise<void>;
}

interface State<Own extends Term> {
  readonly options: LeadingOptions<Own>;
  term: Own | null;
  changes: number;
  /** When the broker last answered this instance, or when it began to lead; monotonic, in milliseconds. */
  listenedAt: number;
  /** Until when the lease is left to others; `null`: it is wanted. */
  restsUntil: number | null;
  /** The length of the next rest. */
  restMs: number;
  /** Whether the store has ever said who holds the lease. */
  hasKnownHolder: boolean;
  isClosed: boolean;
  /** Changes of the role, one after the other. */
  settled: Promise<void>;
}

/** Requests the lease at once. */
export function createLeading<Own extends Term>(options: LeadingOptions<Own>): Leading<Own> {
  const { history } = options;
  const state: State<Own> = {
    options,
    term: null,
    changes: 0,
    listenedAt: 0,
    restsUntil: null,
    restMs: REST_MS,
    hasKnownHolder: false,
    isClosed: false,
    settled: Promise.resolve(),
  };
  const stopListening = history.onLease(() => void settle(state));
  const timer = setInterval(() => look(state), INTERVAL_MS).unref();
  history.wantLease(true);
  void settle(state);
  return {
    term: () => state.term,
    changes: () => state.changes,
    async close() {
      state.isClosed = true;
      clearInterval(timer);
      stopListening();
      await settle(state);
    },
  };
}

function look<Own extends Term>(state: State<Own>): void {
  const { term, restsUntil, options } = state;
  const now = performance.now();
  if (restsUntil !== null && now >= restsUntil) {
    state.restsUntil = null;
    options.history.wantLease(true);
  }
  if (term?.isListening() === true) {
    state.listenedAt = now;
    state.restMs = REST_MS;
  } else if (term !== null && restsUntil === null && now - state.listenedAt > PATIENCE_MS) giveUp(state, now);
  void settle(state);
}

/** Gives the lease up. If several instances cannot reach the broker, each pauses longer and longer. */
function giveUp<Own extends Term>(state: State<Own>, now: number): void {
  const { history } = state.options;
  if (!history.hasOthers()) return;
  state.restsUntil = now + state.restMs * (1 + Math.random());
  state.restMs = Math.min(2 * state.restMs, LONGEST_REST_MS);
  history.wantLease(false);
}

/** Sets the role by the lease. */
function settle<Own extends Term>(state: State<Own>): Promise<void> {
  state.settled = state.settled.then(() => follow(state));
  return state.settled;
}

/**
 * A leader continues while the holder of the lease is unknown, and an instance that starts without the store begins: it
 * is probably unreachable for all instances, and two collectors do no harm.
 */
function mayLead(state: State<Term>): boolean {
  const { isClosed, restsUntil, term, options } = state;
  if (isClosed || restsUntil !== null) return false;
  const { isHolder, error } = options.history.status();
  state.hasKnownHolder ||= isHolder !== null;
  if (isHolder !== null) return isHolder;
  return term !== null || (!state.hasKnownHolder && error !== null);
}

/** A failure is not kept: the next check tries again. */
async function follow<Own extends Term>(state: State<Own>): Promise<void> {
  const leads = mayLead(state);
  try {
    if (leads && state.term === null) await begin(state);
    else if (!leads && state.term !== null) await end(state, state.term);
  } catch (error) {
    debug('the role could not change: %o', error);
  }
}

async function begin<Own extends Term>(state: State<Own>): Promise<void> {
  const { history, open } = state.options;
  await history.setHearing('all');
  state.listenedAt = performance.now();
  state.term = open();
  state.changes += 1;
}

async function end<Own extends Term>(state: State<Own>, term: Own): Promise<void> {
  state.term = null;
  state.changes += 1;
  await term.close();
  if (!state.isClosed) await state.options.history.setHearing('nothing');
}
