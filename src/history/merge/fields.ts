/** Takes what a message says of what a task is: name, arguments, queue, times, relatives. */
import type { TaskTextField } from '../../model.ts';
import type { TaskFacts } from '../history.ts';
import { type Claimant, wins } from './claimant.ts';
import { type Field, OPENING } from './precedence.ts';
import type { MutableRecord, Ranks } from './record.ts';
import { keepStamps } from './stamps.ts';

/** Takes the fields that the claimant may set. */
export function takeFields(record: MutableRecord, facts: TaskFacts, by: Claimant): void {
  const { name, args, queue, eta, kind, stamps } = facts;
  if (isGiven(name, by) && claim(record, 'name', by, record.name === null)) record.name = name;
  // A message with neither arguments nor queue nor eta has no keyword arguments and no expiry that count.
  if (by.reporter === 'header' || args !== undefined || queue !== undefined || eta !== undefined) {
    takeMessage(record, facts, by);
  }
  if (facts.parentId !== undefined || facts.rootId !== undefined) takeLineage(record, facts, by);
  takeCanvas(record, facts, by);
  if (kind != null && mayClaim('kind', 0, by, record.kind === null)) record.kind = kind;
  if (stamps != null && mayClaim('stamps', 0, by, record.stamps === null)) {
    record.stamps = keepStamps(stamps) ?? record.stamps;
  }
}

/** Group and chord of a task. */
export function takeCanvas(
  record: MutableRecord,
  facts: Pick<TaskFacts, 'groupId' | 'chordId'>,
  by: Claimant,
): void {
  const { groupId, chordId } = facts;
  if (typeof groupId === 'string' && claim(record, 'group', by, record.groupId === null))
    record.groupId = groupId;
  if (typeof chordId === 'string' && claim(record, 'chord', by, record.chordId === null))
    record.chordId = chordId;
}

/** A header without a name or queue has an empty one. */
function isGiven(text: string | null | undefined, { reporter }: Claimant): text is string {
  return typeof text === 'string' && (text !== '' || reporter !== 'header');
}

function takeMessage(record: MutableRecord, facts: TaskFacts, by: Claimant): void {
  const { args, kwargs, queue, expires } = facts;
  // Before the arguments raise the rank: the keyword arguments go by the same one.
  if (typeof kwargs === 'string' && mayClaim('args', record.ranks.args, by, record.kwargs === null)) {
    record.kwargs = kwargs;
    if (by.reporter !== 'header') removeTruncated(record, 'kwargs');
  }
  if (typeof args === 'string' && claim(record, 'args', by, record.args === null)) {
    record.args = args;
    if (by.reporter !== 'header') removeTruncated(record, 'args');
  }
  if (isGiven(queue, by) && claim(record, 'queue', by, record.queue === null)) record.queue = queue;
  takeEta(record, facts.eta, by);
  if (typeof expires === 'number' && mayClaim('expires', 0, by, record.expires === null))
    record.expires = expires;
}

function takeEta(record: MutableRecord, eta: number | null | undefined, by: Claimant): void {
  if (typeof eta !== 'number' && (eta !== null || by.reporter === 'header')) return;
  const heldRank = record.ranks.eta;
  if (!claim(record, 'eta', by, record.eta === null)) return;
  record.eta = eta;
  // Only a message that opens an attempt knows that there is none.
  if (eta === null && record.ranks.eta < OPENING) record.ranks.eta = heldRank;
}

function takeLineage(record: MutableRecord, { parentId, rootId, retries }: TaskFacts, by: Claimant): void {
  const heldRank = record.ranks.lineage;
  // Only a message that opens an attempt takes a parent or root back.
  const isOpening = by.reporter === 'sent' || by.reporter === 'received';
  if (parentId !== undefined && mayClaim('lineage', heldRank, by, record.parentId === null)) {
    const parent = parentId === record.id ? null : parentId;
    if (parent !== null || isOpening) record.parentId = parent;
    // A retry names the task itself only where there was no parent; `replace()` does so in any case.
    const isNone = parentId === null || (parent === null && (retries ?? 0) > 0);
    if (isNone) record.hasNoParent = true;
  }
  if (rootId !== undefined && mayClaim('lineage', heldRank, by, record.rootId === null)) {
    if (rootId !== null || isOpening) record.rootId = rootId;
  }
  if (mayClaim('lineage', heldRank, by, false) && isOpening) record.ranks.lineage = OPENING;
}

/** @returns whether the claimant may set this field; the field then has the rank of the claim */
function claim(
  { ranks }: MutableRecord,
  field: Field & keyof Ranks,
  by: Claimant,
  isUnknown: boolean,
): boolean {
  const right = by.claims[field];
  if (!wins(right, ranks[field], by, isUnknown)) return false;
  ranks[field] = right.rank;
  return true;
}

/** Like {@link claim}, for a field whose rank is not kept. */
function mayClaim(field: Field, heldRank: number, by: Claimant, isUnknown: boolean): boolean {
  return wins(by.claims[field], heldRank, by, isUnknown);
}

/** Notes that the sender has cut this text. */
export function addTruncated(record: MutableRecord, field: TaskTextField): void {
  if (!record.truncated.includes(field)) record.truncated = [...record.truncated, field];
}

/** Notes that this text is whole. */
export function removeTruncated(record: MutableRecord, field: TaskTextField): void {
  if (record.truncated.includes(field))
    record.truncated = record.truncated.filter((other) => other !== field);
}
