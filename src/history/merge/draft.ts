/** A copy of a record that is being changed, before it is handed out as the next record. */
import type { TaskTextField } from '../../model.ts';
import { type Field, PRECEDENCE, type Reporter, type Standing, wins } from './precedence.ts';
import type { Ranks, TaskRecord } from './record.ts';

/** A record under change. */
export type Draft = { -readonly [Name in Exclude<keyof TaskRecord, 'ranks'>]: TaskRecord[Name] } & {
  ranks: { -readonly [Name in keyof Ranks]: Ranks[Name] };
};

/** Who claims fields of a task, and how its message stands among the others. */
export interface Claimant {
  readonly reporter: Reporter;
  readonly standing: Standing;
}

/** @returns a copy. Field by field, since spreading so many takes V8 ten times as long. */
export function draftOf(record: TaskRecord): Draft {
  const { ranks } = record;
  return {
    id: record.id,
    entries: record.entries,
    ranks: {
      name: ranks.name,
      args: ranks.args,
      queue: ranks.queue,
      eta: ranks.eta,
      lineage: ranks.lineage,
      group: ranks.group,
      chord: ranks.chord,
      result: ranks.result,
      exception: ranks.exception,
    },
    name: record.name,
    queue: record.queue,
    args: record.args,
    kwargs: record.kwargs,
    eta: record.eta,
    expires: record.expires,
    parentId: record.parentId,
    hasNoParent: record.hasNoParent,
    rootId: record.rootId,
    groupId: record.groupId,
    chordId: record.chordId,
    kind: record.kind,
    stamps: record.stamps,
    result: record.result,
    exception: record.exception,
    traceback: record.traceback,
    runtime: record.runtime,
    truncated: record.truncated,
    isMissing: record.isMissing,
  };
}

/** Makes a draft equal to a record, for callers that reuse one draft. @returns the draft */
export function copyInto(draft: Draft, record: TaskRecord): Draft {
  const { ranks } = record;
  draft.ranks.name = ranks.name;
  draft.ranks.args = ranks.args;
  draft.ranks.queue = ranks.queue;
  draft.ranks.eta = ranks.eta;
  draft.ranks.lineage = ranks.lineage;
  draft.ranks.group = ranks.group;
  draft.ranks.chord = ranks.chord;
  draft.ranks.result = ranks.result;
  draft.ranks.exception = ranks.exception;
  draft.id = record.id;
  draft.entries = record.entries;
  draft.name = record.name;
  draft.queue = record.queue;
  draft.args = record.args;
  draft.kwargs = record.kwargs;
  draft.eta = record.eta;
  draft.expires = record.expires;
  draft.parentId = record.parentId;
  draft.hasNoParent = record.hasNoParent;
  draft.rootId = record.rootId;
  draft.groupId = record.groupId;
  draft.chordId = record.chordId;
  draft.kind = record.kind;
  draft.stamps = record.stamps;
  draft.result = record.result;
  draft.exception = record.exception;
  draft.traceback = record.traceback;
  draft.runtime = record.runtime;
  draft.truncated = record.truncated;
  draft.isMissing = record.isMissing;
  return draft;
}

/** @returns whether the claimant may set this field; its rank then counts for the field */
export function claim(draft: Draft, field: Field & keyof Ranks, by: Claimant, isUnknown: boolean): boolean {
  const right = PRECEDENCE[field][by.reporter];
  if (!wins(right, draft.ranks[field], by.standing, isUnknown)) return false;
  draft.ranks[field] = right.rank;
  return true;
}

/** Like {@link claim}, for a field whose rank is not kept. */
export function mayClaim(field: Field, heldRank: number, by: Claimant, isUnknown: boolean): boolean {
  return wins(PRECEDENCE[field][by.reporter], heldRank, by.standing, isUnknown);
}

/** Notes that the sender has cut this text. */
export function addTruncated(draft: Draft, field: TaskTextField): void {
  if (!draft.truncated.includes(field)) draft.truncated = [...draft.truncated, field];
}

/** Notes that this text is whole. */
export function removeTruncated(draft: Draft, field: TaskTextField): void {
  if (draft.truncated.includes(field)) draft.truncated = draft.truncated.filter((other) => other !== field);
}
