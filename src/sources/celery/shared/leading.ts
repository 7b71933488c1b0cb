/**
 * Who collects: with `collect: 'leader'`, only the instance that holds the lease of the history. It alone is connected to
 * broker and result backend, and reports to the others. One that cannot reach the broker gives the lease up.
 */
import { debugChannel } from '../../../debug.ts';
import type { StoredHistory } from '../../../history/stored-history.ts';

const debug = debugChannel('celery');

const INTERVAL_MS = 500;
/** How long a leader tries to reach the broker before it lets another try, in milliseconds. */
const PATIENCE_MS = 3_000;
/** How long it leaves the lease to others then, and at most after several failures, in milliseconds. */
const REST_MS = 3_000;
const LONGEST_REST_MS = 30_000;

/** What a leader does until it is closed. */
export interface Term {
  /** Whether it hears what happens. */
  isListening(): boolean;
  /** Ends everything, connections included. */
  close(): Promise<void>;
}

/** What {@link createLeading} needs. */
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
  /** What this instance does as the leader; `null`: it is not the leader. */
  term(): Own | null;
  /** Grows with each beginning and each end of a term. */
  changes(): number;
  close(): Promise<void>;
}

interface State<Own extends Term> {
  readonly options: LeadingOptions<Own>;
  term: Own | null;
  changes: number;
  /** When this instance last heard the broker, or began to lead; monotonic, in milliseconds. */
  listenedAt: number;
  /** Until when the lease is left to others; `null`: it is wanted. */
  restsUntil: number | null;
  /** The length of the next rest. */
  restMs: number;
  isClosed: boolean;
  /** Changes of the role, one behind the other. */
  settled: Promise<void>;
}

/** Wants the lease at once. */
export function createLeading<Own extends Term>(options: LeadingOptions<Own>): Leading<Own> {
  const { history } = options;
  const state: State<Own> = {
    options,
    term: null,
    changes: 0,
    listenedAt: 0,
    restsUntil: null,
    restMs: REST_MS,
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

/** Lets another try. Of several that all cannot reach the broker, each rests longer and longer. */
function giveUp<Own extends Term>(state: State<Own>, now: number): void {
  const { history } = state.options;
  if (!history.hasOthers()) return;
  state.restsUntil = now + state.restMs * (1 + Math.random());
  state.restMs = Math.min(2 * state.restMs, LONGEST_REST_MS);
  history.wantLease(false);
}

/** Makes the role what the lease says. */
function settle<Own extends Term>(state: State<Own>): Promise<void> {
  state.settled = state.settled.then(() => follow(state));
  return state.settled;
}

/**
 * A leader goes on while it is not known who has the lease: the store is away for all, most likely, and two who collect
 * do no harm.
 */
function mayLead({ isClosed, restsUntil, term, options: { history } }: State<Term>): boolean {
  if (isClosed || restsUntil !== null) return false;
  return history.isHolder() || (term !== null && history.status().isHolder === null);
}

/** A failure is not kept: the next look tries again. */
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
