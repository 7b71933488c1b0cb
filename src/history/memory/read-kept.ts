import type { TaskCause, TaskTextField } from '../../model.ts';
import type { TaskRecord } from '../merge/record.ts';
import { FACT, type Records } from '../table/records.ts';
import { shortenedIn } from '../table/redaction.ts';
import type { Tables } from './tables.ts';
import type { KeptTask } from './tap.ts';

/** @returns a task as it is kept beyond memory; it must not be changed */
export function readKept({ records, redaction }: Tables, slot: number): KeptTask {
  const record = redaction.record(slot);
  const rootId = record.rootId ?? records.roots[slot] ?? null;
  return keptOf(record, rootId, shortenedIn(records, slot, record), foundCause(records, slot));
}

/** The cause found in texts of which memory may now keep only the beginning. @returns `undefined`: not searched yet */
function foundCause({ facts, causes, cause }: Records, slot: number): TaskCause | null | undefined {
  return ((facts[slot] as number) & FACT.CAUSE_FOUND) === 0 ? undefined : causes.read(cause[slot] as number);
}

/** @param cut texts of which memory keeps only the beginning */
function keptOf(
  record: TaskRecord,
  rootId: string | null,
  cut: readonly TaskTextField[],
  cause: TaskCause | null | undefined,
): KeptTask {
  const shortened = cut.filter((field) => !record.truncated.includes(field));
  return {
    record: shortened.length === 0 ? record : { ...record, truncated: [...record.truncated, ...shortened] },
    rootId,
    shortened,
    ...(cause !== undefined && { cause }),
  };
}
