/**
 * Puts together what two instances know of one task. Both have folded messages of the same task, some of them the
 * same ones; the result is what one instance would know that had heard all of them.
 */
import { addReported } from './entries.ts';
import { copyRecord, type MutableRecord, type Ranks, type TaskRecord } from './record.ts';

/** The fields that have a rank, with those that come with them. */
const RANKED: readonly (readonly [keyof Ranks, readonly (keyof TaskRecord)[]])[] = [
  ['name', ['name']],
  ['args', ['args', 'kwargs']],
  ['queue', ['queue']],
  ['eta', ['eta']],
  ['lineage', ['parentId', 'rootId', 'hasNoParent']],
  ['group', ['groupId']],
  ['chord', ['chordId']],
  ['result', ['result']],
  ['exception', ['exception', 'traceback']],
];

/** The fields that every message carries alike. */
const UNRANKED = ['expires', 'kind', 'stamps', 'runtime'] as const;

/**
 * @param stored what is stored
 * @param own what this instance knows
 * @returns a record of its own
 */
export function mergeRecords(stored: TaskRecord, own: TaskRecord): MutableRecord {
  const isOwnLater = lastTime(own) >= lastTime(stored);
  const [earlier, later] = isOwnLater ? [stored, own] : [own, stored];
  const record = copyRecord(later);
  record.entries.length = 0;
  record.entries.push(...stored.entries);
  for (const entry of own.entries) addReported(record.entries, entry, entry.detail);
  for (const [rank, fields] of RANKED) {
    const higher = earlier.ranks[rank] > later.ranks[rank];
    record.ranks[rank] = Math.max(earlier.ranks[rank], later.ranks[rank]);
    for (const field of fields) take(record, field, higher ? earlier : later, higher ? later : earlier);
  }
  for (const field of UNRANKED) take(record, field, later, earlier);
  record.truncated = later.truncated.filter((field) => later[field] === record[field]);
  for (const field of earlier.truncated) {
    if (earlier[field] === record[field] && !record.truncated.includes(field)) {
      record.truncated = [...record.truncated, field];
    }
  }
  record.isMissing = own.isMissing;
  return record;
}

/** Takes the field of the first record, or that of the second where the first knows nothing. */
function take(record: MutableRecord, field: keyof TaskRecord, first: TaskRecord, second: TaskRecord): void {
  const value = first[field];
  const isUnknown = value === null || value === false;
  Object.assign(record, { [field]: isUnknown ? second[field] : value });
}

function lastTime({ entries }: TaskRecord): number {
  return entries.reduce((last, { time }) => Math.max(last, time), Number.NEGATIVE_INFINITY);
}
