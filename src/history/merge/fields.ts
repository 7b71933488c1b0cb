/** Takes what a message says of what a task is: name, arguments, queue, times, relatives. */
import type { TaskFacts } from '../history.ts';
import { type Claimant, claim, type Draft, mayClaim, removeTruncated } from './draft.ts';
import { OPENING } from './precedence.ts';
import { keepStamps } from './stamps.ts';

/** Takes the fields that the claimant may set. */
export function takeFields(draft: Draft, facts: TaskFacts, by: Claimant): void {
  const { name, args, queue, eta, kind, stamps } = facts;
  if (isGiven(name, by) && claim(draft, 'name', by, draft.name === null)) draft.name = name;
  // A message with neither arguments nor queue nor eta has no keyword arguments and no expiry that count.
  if (by.reporter === 'header' || args !== undefined || queue !== undefined || eta !== undefined) {
    takeMessage(draft, facts, by);
  }
  if (facts.parentId !== undefined || facts.rootId !== undefined) takeLineage(draft, facts, by);
  takeCanvas(draft, facts, by);
  if (kind != null && mayClaim('kind', 0, by, draft.kind === null)) draft.kind = kind;
  if (stamps != null && mayClaim('stamps', 0, by, draft.stamps === null)) {
    draft.stamps = keepStamps(stamps) ?? draft.stamps;
  }
}

/** Group and chord of a task. */
export function takeCanvas(draft: Draft, facts: Pick<TaskFacts, 'groupId' | 'chordId'>, by: Claimant): void {
  const { groupId, chordId } = facts;
  if (typeof groupId === 'string' && claim(draft, 'group', by, draft.groupId === null))
    draft.groupId = groupId;
  if (typeof chordId === 'string' && claim(draft, 'chord', by, draft.chordId === null))
    draft.chordId = chordId;
}

/** A header without a name or queue has an empty one. */
function isGiven(text: string | null | undefined, { reporter }: Claimant): text is string {
  return typeof text === 'string' && (text !== '' || reporter !== 'header');
}

function takeMessage(draft: Draft, facts: TaskFacts, by: Claimant): void {
  const { args, kwargs, queue, expires } = facts;
  // Before the arguments raise the rank: the keyword arguments go by the same one.
  if (typeof kwargs === 'string' && mayClaim('args', draft.ranks.args, by, draft.kwargs === null)) {
    draft.kwargs = kwargs;
    if (by.reporter !== 'header') removeTruncated(draft, 'kwargs');
  }
  if (typeof args === 'string' && claim(draft, 'args', by, draft.args === null)) {
    draft.args = args;
    if (by.reporter !== 'header') removeTruncated(draft, 'args');
  }
  if (isGiven(queue, by) && claim(draft, 'queue', by, draft.queue === null)) draft.queue = queue;
  takeEta(draft, facts.eta, by);
  if (typeof expires === 'number' && mayClaim('expires', 0, by, draft.expires === null))
    draft.expires = expires;
}

function takeEta(draft: Draft, eta: number | null | undefined, by: Claimant): void {
  if (typeof eta !== 'number' && (eta !== null || by.reporter === 'header')) return;
  const heldRank = draft.ranks.eta;
  if (!claim(draft, 'eta', by, draft.eta === null)) return;
  draft.eta = eta;
  // Only a message that opens an attempt knows that there is none.
  if (eta === null && draft.ranks.eta < OPENING) draft.ranks.eta = heldRank;
}

function takeLineage(draft: Draft, { parentId, rootId, retries }: TaskFacts, by: Claimant): void {
  const heldRank = draft.ranks.lineage;
  // Only a message that opens an attempt takes a parent or root back.
  const isOpening = by.reporter === 'sent' || by.reporter === 'received';
  if (parentId !== undefined && mayClaim('lineage', heldRank, by, draft.parentId === null)) {
    const parent = parentId === draft.id ? null : parentId;
    if (parent !== null || isOpening) draft.parentId = parent;
    // A retry names the task itself only where there was no parent; `replace()` does so in any case.
    const isNone = parentId === null || (parent === null && (retries ?? 0) > 0);
    if (isNone) draft.hasNoParent = true;
  }
  if (rootId !== undefined && mayClaim('lineage', heldRank, by, draft.rootId === null)) {
    if (rootId !== null || isOpening) draft.rootId = rootId;
  }
  if (mayClaim('lineage', heldRank, by, false) && isOpening) draft.ranks.lineage = OPENING;
}
