/**
 * The lease: one instance at a time collects and writes for a source, by the clock of the database. Its holder counts
 * its time from before each question, so that it stops before the lease ends, whatever its own clock does.
 */
import type { LeaseState, StoreSession } from '../store.ts';
import { isHolder, type StoredState } from './stored-state.ts';

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
