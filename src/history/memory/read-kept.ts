import { shortenedIn } from '../table/redaction.ts';
import type { Tables } from './tables.ts';
import type { KeptTask } from './tap.ts';

/** @returns a task as it is kept beyond memory; it must not be changed */
export function readKept({ records, redaction }: Tables, slot: number): KeptTask {
  const record = redaction.record(slot);
  const cut = shortenedIn(records, slot, record);
  const shortened = cut.filter((field) => !record.truncated.includes(field));
  return {
    record: shortened.length === 0 ? record : { ...record, truncated: [...record.truncated, ...shortened] },
    rootId: record.rootId ?? records.roots[slot] ?? null,
    shortened,
  };
}
