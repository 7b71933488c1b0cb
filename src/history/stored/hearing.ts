/** Which messages this instance receives, and which it has missed. */
import type { LeaseState, StoreSession } from '../store.ts';
import type { Hearing } from '../stored-history.ts';
import { isHolder, type StoredState } from './stored-state.ts';
import { unionOf } from './texts.ts';

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
export async function renewLease(state: StoredState): Promise<void> {
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
