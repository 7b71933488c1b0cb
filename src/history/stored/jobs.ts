/**
 * The repeated work of a stored history: open the store, renew the lease, write, read copies, load, clean up; and which
 * messages this instance receives, and which it has missed.
 */
import type { LeaseState, StoreSession } from '../store.ts';
import type { Hearing } from '../stored-history.ts';
import { loadStored, takeInChunks, takeInTexts } from './loading.ts';
import { countedSince, createRollups } from './rollups/create-rollups.ts';
import { areClocksApart, isHolder, mayWrite, ownNow, type StoredState, TEXT } from './stored-state.ts';
import { unionOf } from './texts.ts';
import { keepStore, noteLosses, writeBehind } from './write-behind.ts';

/** Between two checks for data to be loaded, in milliseconds. */
const LOAD_MS = 1_000;
const OPEN_MS = 1_000;
const UPKEEP_MS = 60_000;
/** Unwritten counts are lost with the process. */
const COUNT_MS = 2_000;
/** Longest time to load, write or fold counts, in milliseconds. */
const COUNT_DEADLINE_MS = 60_000;
/** Most chunks of the feed that are read at once. */
const MOST_CHUNKS = 100;

/** The repeated work of a stored history. */
export type Jobs = ReturnType<typeof createJobs>;

/** Creates the work without starting it. */
export function createJobs(state: StoredState) {
  const listeners = new Set<(isHolder: boolean) => void>();
  const watch = createLeaseWatch(state, (held) => {
    if (held) {
      writing.wake();
      upkeep.wake();
    }
    for (const listener of listeners) listener(held);
  });
  const lease = createPulse(() => renewLease(state).finally(watch.look), state.pace.renewalMs);
  const writing = createPulse(
    () => writeBehind(state).finally(() => noteLosses(state)),
    state.pace.intervalMs,
  );
  const copies = createPulse(() => readCopies(state), state.pace.intervalMs);
  const loading = createPulse(() => load(state), LOAD_MS);
  const upkeep = createPulse(() => keepStore(state), UPKEEP_MS);
  const counting = createPulse(() => countUp(state), COUNT_MS);
  const all: readonly Pulse[] = [lease, writing, copies, loading, upkeep, counting];
  const opening = createPulse(async () => {
    await open(state);
    opening.stop();
    // The first write needs the holder and the clock of the database.
    await lease.run().catch(() => {});
    isOpen = true;
    if (!isStopped) for (const pulse of all) pulse.start();
  }, OPEN_MS);
  let isOpen = false;
  let isStopped = false;
  const wake = (): void => {
    if (state.session !== null) for (const pulse of all) pulse.wake();
  };
  state.calls.onAnswer(wake);
  return {
    start: opening.start,
    /** Waits until the store is open, with another attempt if necessary. Rejects when that fails. */
    open: async (): Promise<void> => (isOpen ? undefined : opening.run()),
    /** Writes all changes so far, if this instance is the one that writes. */
    async write(): Promise<void> {
      await writing.run();
      await countUp(state);
    },
    /** Does everything that is due now, without waiting for its time. */
    wake,
    /** Called when the lease is taken or lost. @returns ends the calls */
    onLease(listener: (isHolder: boolean) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop(): void {
      isStopped = true;
      watch.stop();
      for (const pulse of [opening, ...all]) pulse.stop();
    },
  };
}

async function open(state: StoredState): Promise<void> {
  const { options, calls, isReadOnly } = state;
  const { store, source } = options;
  const deployment = store.deployment ?? options.deployment;
  const opened = store.open({ source, deployment, isReadOnly });
  let session: StoreSession;
  try {
    session = await calls.ask('open', () => opened);
  } catch (error) {
    warnOnce(state);
    // A session that opens too late.
    void opened.then((late) => store.close(late)).catch(() => {});
    throw error;
  }
  if (state.isClosed) {
    await store.close(session);
    return;
  }
  state.session = session;
  state.rollups = createRollups({
    store: session.rollups,
    access: state.access,
    writer: state.hearing === 'part' ? state.instance : '',
    rollupDays: store.retention.rollupDays,
    // Minutes are those of this instance's clock, which counts.
    clock: () => Math.floor(ownNow(state)),
    storeClock: state.clock.now,
  });
}

/** The host is informed once that its store cannot be used: nothing else fails because of it. */
function warnOnce(state: StoredState): void {
  if (state.hasWarned || state.isClosed) return;
  state.hasWarned = true;
  const { sentence } = state.calls.problem() ?? { sentence: '' };
  process.emitWarning(
    `The store of source '${state.options.source}' cannot be opened: ${sentence} Until it can, its history stays in memory.`,
    { type: 'ExpressTaskMonitorWarning', code: 'EXPRESS_TASK_MONITOR_STORE' },
  );
}

/** Loads, writes and folds the counts by minute, and finds out how far back they reach. */
async function countUp(state: StoredState): Promise<void> {
  const { rollups, session, calls, hearing, isReadOnly, options, lease } = state;
  if (rollups === null || session === null) return;
  // An instance that never receives messages reads the counts of others on request.
  if (!isReadOnly || hearing === 'all') {
    const isWriter = mayWrite(state) && hearing !== 'nothing';
    const keeps = isHolder(state) && !isReadOnly;
    const role = {
      writes: isWriter,
      leaves: hearing === 'nothing' || lease.isTaken,
      folds: keeps,
      drops: keeps && !areClocksApart(state),
    };
    await calls.ask('upkeep', () => rollups.turn(role), COUNT_DEADLINE_MS);
  }
  const { rollupDays } = options.store.retention;
  const since = await calls.ask('upkeep', () => countedSince(session.rollups, ownNow(state), rollupDays));
  if (since?.getTime() === state.countedSince?.getTime()) return;
  state.countedSince = since;
  state.revision++;
}

/** Reads what others have written, if this instance does not receive everything itself. */
async function readCopies(state: StoredState): Promise<void> {
  const { session, hearing, texts, feed, calls } = state;
  if (session === null || hearing === 'all' || state.isLoading) return;
  const changed = await texts.refresh(session.snapshots);
  if (changed.has(TEXT.tasks)) state.revision++;
  if (changed.has(TEXT.workers)) takeInTexts(state);
  let chunks = await calls.ask('copy', () => session.feed.read(feed.readThrough, MOST_CHUNKS));
  while (chunks.length > 0) {
    await takeInChunks(state, chunks);
    if (chunks.length < MOST_CHUNKS) return;
    chunks = await calls.ask('copy', () => session.feed.read(feed.readThrough, MOST_CHUNKS));
  }
}

async function load(state: StoredState): Promise<void> {
  const { session, hearing } = state;
  if (session === null || !state.isLoading) return;
  await loadStored(state, session);
  if (state.hearing !== hearing) return;
  state.isLoading = false;
  state.revision++;
}

/** Notices when the lease is taken or lost, even if the store does not answer. */
function createLeaseWatch(
  state: StoredState,
  changed: (isHolder: boolean) => void,
): { look(): void; stop(): void } {
  let wasHolder = false;
  let timer: NodeJS.Timeout | null = null;

  function look(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const held = isHolder(state);
    if (held) {
      timer = setTimeout(look, Math.max(1, state.lease.heldUntil - state.clock.elapsed()));
      timer.unref();
    }
    if (held === wasHolder) return;
    wasHolder = held;
    changed(held);
  }

  return {
    look,
    stop() {
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** Longest wait after a failure, in milliseconds. */
const MOST_WAIT_MS = 30_000;

/** Repeated work, done less often while it fails. At most one run is under way. */
interface Pulse {
  start(): void;
  /** Does the work without waiting for its time. A run that is under way is followed by another one. */
  wake(): void;
  /** Starts the work anew and waits for it. Rejects with what it throws. */
  run(): Promise<void>;
  /** Ends the repetition, not the run that is under way. */
  stop(): void;
}

/**
 * @param work waits of 1, 2, 4 … 30 seconds follow its failures
 * @param intervalMs from the start of one run to the next
 */
function createPulse(work: () => Promise<void>, intervalMs: number): Pulse {
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> | null = null;
  let isStarted = false;
  let isWoken = false;
  let failures = 0;

  function schedule(ms: number): void {
    if (!isStarted) return;
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      void begin().catch(() => {});
    }, ms);
    timer.unref();
  }

  function begin(): Promise<void> {
    running ??= runOnce();
    return running;
  }

  async function runOnce(): Promise<void> {
    const begin = performance.now();
    isWoken = false;
    try {
      await work();
      failures = 0;
    } catch (error) {
      failures += 1;
      throw error;
    } finally {
      running = null;
      schedule(isWoken ? 0 : waitAfter(failures, intervalMs - (performance.now() - begin)));
    }
  }

  return {
    start() {
      if (isStarted) return;
      isStarted = true;
      schedule(0);
    },
    wake() {
      failures = 0;
      isWoken = running !== null;
      if (!isWoken) schedule(0);
    },
    async run() {
      if (running !== null) await running.catch(() => {});
      await begin();
    },
    stop() {
      isStarted = false;
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}

/** @param restMs of the interval */
function waitAfter(failures: number, restMs: number): number {
  return failures === 0 ? Math.max(0, restMs) : Math.min(1_000 * 2 ** (failures - 1), MOST_WAIT_MS);
}

/** Messages may have been missed. @param since milliseconds since 1970; `null`: since the last one */
export function gapFound(state: StoredState, since: number | null): void {
  if (state.hearing !== 'all') return;
  endSpan(state, since);
  state.hearsSince = state.clock.elapsed();
}

/** @param at when this instance stopped receiving everything, milliseconds since 1970; `null`: with the last message */
function endSpan(state: StoredState, at: number | null): void {
  const { clock, hearsSince, feed } = state;
  if (hearsSince === null) return;
  const from = clock.databaseAt(hearsSince);
  const to = Math.min(clock.now(), (at ?? feed.lastArrival ?? 0) + clock.ahead());
  if (to > from) state.spans = unionOf([...state.spans, [from, to]]);
  state.hearsSince = null;
}

/** Stops the clock of the history while the source is disconnected: only others receive messages then. */
export function freezeAt(state: StoredState, moment: Date | null): void {
  const { history, frozenAt } = state;
  history.writer.freezeAt(moment);
  if (state.hearing !== 'all') return;
  if (moment !== null) {
    endSpan(state, moment.getTime());
    state.frozenAt ??= moment.getTime();
  } else if (frozenAt !== null) {
    state.frozenAt = null;
    gapFound(state, frozenAt);
  }
}

/** Changes the hearing. The content of memory must have been written before. */
export function changeHearing(state: StoredState, hearing: Hearing): void {
  if (state.hearing === 'all') endSpan(state, state.frozenAt ?? state.clock.now() - state.clock.ahead());
  state.hearing = hearing;
  state.frozenAt = null;
  state.hearsSince = hearing === 'all' ? state.clock.elapsed() : null;
  state.isLoading = true;
  state.areTextsKnown = false;
  state.revision++;
  state.rollups?.restart();
}

/** The holder stops when this much of its lease is left. */
const MARGIN = 1 / 40;
/** Longest wait for an answer, in milliseconds. */
const DEADLINE_MS = 3_000;

/** Takes or renews the lease, or reads who holds it. */
async function renewLease(state: StoredState): Promise<void> {
  const { session, clock, lease, calls } = state;
  if (session === null) return;
  const askedAt = clock.elapsed();
  const isWanted = lease.isWanted && !state.isReadOnly;
  try {
    const found = await calls.ask('lease', () => question(state, session, isWanted), DEADLINE_MS);
    clock.learn(found.now, askedAt);
    lease.isKnown = true;
    lease.isTaken = !found.isHeld && found.holder !== null;
    lease.heldUntil = found.isHeld ? askedAt + state.pace.leaseMs * (1 - MARGIN) : Number.NEGATIVE_INFINITY;
    noteOthers(state, found);
  } catch (error) {
    lease.isKnown = false;
    throw error;
  }
}

async function question(state: StoredState, { lease }: StoreSession, isWanted: boolean): Promise<LeaseState> {
  if (isWanted) return lease.acquire(state.instance, state.pace.leaseMs);
  if (isHolder(state)) await lease.release(state.instance);
  return lease.look();
}

function noteOthers({ lease, clock }: StoredState, found: LeaseState): void {
  const contendedAt =
    found.contendedAt === null ? Number.NEGATIVE_INFINITY : clock.elapsedAt(found.contendedAt);
  lease.othersSeenAt = Math.max(
    lease.othersSeenAt,
    contendedAt,
    lease.isTaken ? clock.elapsed() : contendedAt,
  );
}
