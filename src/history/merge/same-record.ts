/** Compares records of one task. */
import { isSameProgress } from './progress.ts';
import type { Ranks, TaskEntry, TaskRecord } from './record.ts';

/** Whether two records know the same. */
export function isSameRecord(one: TaskRecord, other: TaskRecord): boolean {
  for (const field of PLAIN) if (one[field] !== other[field]) return false;
  return (
    one.entries.length === other.entries.length &&
    one.entries.every((entry, at) => isSameEntry(entry, other.entries[at] as TaskEntry)) &&
    (Object.keys(one.ranks) as (keyof Ranks)[]).every((rank) => one.ranks[rank] === other.ranks[rank]) &&
    one.truncated.length === other.truncated.length &&
    one.truncated.every((field) => other.truncated.includes(field)) &&
    (one.stamps === null) === (other.stamps === null) &&
    isSameProgress(one.progress, other.progress)
  );
}

/** The fields that are compared as they are. Stamps never change once they are known. */
const PLAIN = [
  ...(['name', 'queue', 'args', 'kwargs', 'eta', 'expires', 'parentId', 'hasNoParent', 'rootId'] as const),
  ...(['groupId', 'chordId', 'kind', 'traceId', 'result', 'exception', 'traceback', 'runtime'] as const),
  'isMissing' as const,
];

function isSameEntry(one: TaskEntry, other: TaskEntry): boolean {
  return (
    one.time === other.time &&
    one.kind === other.kind &&
    one.origin === other.origin &&
    one.state === other.state &&
    one.worker === other.worker &&
    one.retries === other.retries &&
    one.timeSource === other.timeSource &&
    one.isStored === other.isStored &&
    one.isCounted === other.isCounted &&
    one.detail === other.detail
  );
}
