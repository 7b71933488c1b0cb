/**
 * The lease: one instance at a time collects and writes for a source, by the clock of the database. Its holder counts
 * its time from before each question, so that it stops before the lease ends, whatever its own clock does.
 */
import { isRecord } from '../../values.ts';
import type { LeaseState, StoreSession } from '../store.ts';
import { isHolder, type StoredState } from './stored-state.ts';
import { oldestWaiting } from './write-behind.ts';

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
    lease.isTaken = !found.isHeld && found.report !== null;
    lease.heldUntil = found.isHeld ? askedAt + state.pace.leaseMs * (1 - MARGIN) : Number.NEGATIVE_INFINITY;
    noteOthers(state, found);
    if (!found.isHeld) lease.writtenThrough = writtenThroughIn(state, found.report) ?? lease.writtenThrough;
  } catch (error) {
    lease.isKnown = false;
    throw error;
  }
}

async function question(state: StoredState, { lease }: StoreSession, isWanted: boolean): Promise<LeaseState> {
  if (isWanted) return lease.acquire(state.instance, state.pace.leaseMs, reportOf(state));
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

/**
 * What other instances read about the holder: up to when it has written everything it received, by the clock of the
 * database.
 */
function reportOf(state: StoredState): string {
  const { clock } = state;
  const through = oldestWaiting(state) ?? state.caughtUpAt;
  return JSON.stringify({ writtenThrough: Math.round(clock.databaseAt(through)) });
}

function writtenThroughIn({ clock }: StoredState, report: string | null): number | null {
  try {
    const known: unknown = JSON.parse(report ?? 'null');
    const through = isRecord(known) ? known.writtenThrough : null;
    return typeof through === 'number' ? clock.elapsedAt(through) : null;
  } catch {
    return null;
  }
}
