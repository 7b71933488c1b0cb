/** Workers as they are stored and as other instances read them. */
import { isRecord } from '../../values.ts';
import { isName } from '../names.ts';
import type { StoredWorker, WorkerRecord } from './worker-record.ts';

/** @returns a copy that survives JSON */
export function toStored(worker: WorkerRecord): StoredWorker {
  const { bornAt, facts } = worker;
  return { ...worker, facts: { ...facts }, bornAt: Number.isFinite(bornAt) ? bornAt : null };
}

/** @returns a record of its own; `null` if it is not a worker */
export function fromStored(stored: StoredWorker): WorkerRecord | null {
  const { hostname, heardAt, isHeard, heartbeatAt, intervalMs, clockAheadMs, bornAt, saidGoodbye, facts } =
    stored;
  const times = [heardAt, intervalMs, clockAheadMs, heartbeatAt ?? 0, bornAt ?? 0];
  if (!isName(hostname) || !times.every(Number.isFinite) || !isRecord(facts)) return null;
  return {
    ...{ hostname, heardAt, isHeard, heartbeatAt, intervalMs, clockAheadMs, saidGoodbye },
    bornAt: bornAt ?? Number.NEGATIVE_INFINITY,
    facts: { ...facts },
  };
}

/**
 * Merges what another instance knows about a worker: for each field, the later value.
 *
 * @returns whether anything has changed
 */
export function mergeWorker(known: WorkerRecord, given: WorkerRecord): boolean {
  const isLater = given.isHeard && (!known.isHeard || given.heardAt > known.heardAt);
  const isBeat = (given.heartbeatAt ?? 0) > (known.heartbeatAt ?? 0);
  const isBorn = given.bornAt > known.bornAt;
  if (!isLater && !isBeat && !isBorn) return false;
  if (isLater) {
    known.heardAt = given.heardAt;
    known.saidGoodbye = given.saidGoodbye;
    known.isHeard = true;
  }
  if (isBeat) {
    known.heartbeatAt = given.heartbeatAt;
    known.intervalMs = given.intervalMs;
    known.clockAheadMs = given.clockAheadMs;
  }
  if (isBorn) known.bornAt = given.bornAt;
  const [later, earlier] = isLater || isBeat ? [given, known] : [known, given];
  const isOther =
    later.facts.pid != null && earlier.facts.pid != null && later.facts.pid !== earlier.facts.pid;
  known.facts = isOther ? later.facts : { ...earlier.facts, ...later.facts };
  return true;
}
