import type { TaskRelation } from '../model.ts';
import type { Steps } from '../scheduler.ts';
import { ITEMS_PER_STEP, type ReadableTree } from './readable-tree.ts';

/** Relation kinds from least to most specific. */
const BY_SPECIFICITY = ['child', 'chunks', 'starmap', 'map', 'flow', 'chain', 'link', 'link_error', 'chord'];

/** From a task to the one that runs after it and had created it, as in flows of BullMQ. */
export const FLOW = 'flow';

/** Longest line of parents that is followed. */
const MAX_STEPS = 64;

/** What is known of a group that is the header of a chord. */
interface Chord {
  readonly header: Set<string>;
  /** One, unless the body is itself a group. */
  readonly bodies: Set<string>;
}

/**
 * How specific a kind of relation is. Of two relations between the same tasks, the more specific one is kept.
 * Kinds that only the engine knows rank just above `child`.
 */
export function specificityOf(relation: string): number {
  const at = BY_SPECIFICITY.indexOf(relation);
  return at < 0 ? 0.5 : at;
}

/**
 * Every relation of a workflow, without duplicates: those that the source lists, and those that follow from
 * the parents, groups and chords of the tasks. Of several relations between the same two tasks the most
 * specific one is kept. Group membership, whose parent is the group id, is kept in addition. A `flow` from a task to
 * its parent, which runs after it, replaces the relation from that parent.
 */
export function* relationsOf(tree: ReadableTree): Steps<readonly TaskRelation[]> {
  const chords = yield* chordsByGroup(tree);
  const flows = yield* flowsOf(tree);
  const kept = new Map<string, TaskRelation>();
  let count = 0;

  function add(parent: string | null, child: string, relation: string): void {
    if (parent === child) return;
    // The length keeps the key unique when an id contains the separator.
    const key = `${relation === 'group'}${parent?.length}:${parent}\n${child}`;
    const known = kept.get(key);
    if (known !== undefined && specificityOf(known.relation) >= specificityOf(relation)) return;
    kept.set(key, { parent, child, relation });
  }

  for (const { links } of tree.tasks.values()) {
    const { id, parentId, groupId, chordId } = links;
    if (parentId !== null && flows.get(id)?.has(parentId) !== true) add(parentId, id, 'child');
    if (groupId !== null && !isBehindHeader(tree, chords.get(groupId), id)) add(groupId, id, 'group');
    if (chordId !== null) add(id, chordId, 'chord');
    if (++count % ITEMS_PER_STEP === 0) yield;
  }
  for (const { parent, child, relation } of tree.relations) {
    const isBehind =
      relation === 'group' && parent !== null && isBehindHeader(tree, chords.get(parent), child);
    if (!isBehind) add(parent, child, relation);
    if (++count % ITEMS_PER_STEP === 0) yield;
  }
  return [...kept.values()];
}

/**
 * Whether a task with the id of a chord's group is not a member of that group: Celery 5.6 gives the id to the body as
 * well, and to the last step of a body that is a chain.
 */
function isBehindHeader({ tasks }: ReadableTree, chord: Chord | undefined, id: string): boolean {
  if (chord === undefined) return false;
  if (chord.bodies.has(id)) return true;
  // The header of a task that replaced itself with the chord has the body as its parent.
  if (chord.header.has(id)) return false;
  let parent = tasks.get(id)?.links.parentId ?? null;
  for (let step = 0; parent !== null && step < MAX_STEPS; step++) {
    if (chord.bodies.has(parent)) return true;
    parent = tasks.get(parent)?.links.parentId ?? null;
  }
  return false;
}

/** By task: its parents that run after it. */
function* flowsOf({ relations }: ReadableTree): Steps<ReadonlyMap<string, ReadonlySet<string>>> {
  const flows = new Map<string, Set<string>>();
  let count = 0;
  for (const { parent, child, relation } of relations) {
    if (++count % ITEMS_PER_STEP === 0) yield;
    if (relation !== FLOW || parent === null) continue;
    const known = flows.get(parent);
    if (known === undefined) flows.set(parent, new Set([child]));
    else known.add(child);
  }
  return flows;
}

/** Chords by the group id of their header, from both task fields and listed relations. */
function* chordsByGroup({ tasks, relations }: ReadableTree): Steps<ReadonlyMap<string, Chord>> {
  const groups = new Map<string, string>();
  const headers: (readonly [header: string, body: string])[] = [];
  let count = 0;
  for (const { parent, child, relation } of relations) {
    if (++count % ITEMS_PER_STEP === 0) yield;
    if (parent === null) continue;
    if (relation === 'group') groups.set(child, parent);
    else if (relation === 'chord') headers.push([parent, child]);
  }
  for (const { links } of tasks.values()) {
    const { id, groupId, chordId } = links;
    if (groupId !== null) groups.set(id, groupId);
    if (chordId !== null) headers.push([id, chordId]);
    if (++count % ITEMS_PER_STEP === 0) yield;
  }
  const chords = new Map<string, Chord>();
  for (const [header, body] of headers) {
    if (++count % ITEMS_PER_STEP === 0) yield;
    const group = groups.get(header);
    if (group === undefined) continue;
    const known = chords.get(group);
    if (known === undefined) chords.set(group, { header: new Set([header]), bodies: new Set([body]) });
    else {
      known.header.add(header);
      known.bodies.add(body);
    }
  }
  return chords;
}
