/** Finds out how tasks belong together, from all that tells of it, and says so to the history. */
import type { CollectedHistory, TaskChange, TaskFacts } from '../../../history/history.ts';
import type { QueuedTask, ResultNode, StoredResult } from '../protocol/messages.ts';
import { brokenHeader } from './broken-chord.ts';
import { createChildren } from './children.ts';
import { firstOf } from './future.ts';
import { listArgument, resultDigest } from './header-results.ts';
import { isId } from './ids.ts';
import { createKinship } from './kinship.ts';
import { createLedger, type LinkedTask } from './ledger.ts';
import { createPlans } from './plans.ts';
import { unknownAround } from './relatives.ts';

/** Takes in what tells of relations, in whatever order it comes and however often. */
export interface Lineage {
  /** An event about a task, after the history has taken it in. */
  changed(change: TaskChange): void;
  /** A stored result, published or read, after the history has taken it in. */
  stored(result: StoredResult): void;
  /** A message seen in a queue or in `unacked`. */
  queued(task: QueuedTask): void;
  /** A stored group (`celery-taskset-meta-<id>`). */
  saved(group: ResultNode): void;
  /**
   * The number of header tasks of a chord, which is stored and published when the last of them is sent
   * (`celery-taskset-meta-<id>.s`, celery/backends/redis.py, `set_chord_size`).
   */
  sized(groupId: string, size: number): void;
  /** Ids that relations or results name, but of which nothing else is known: worth looking up. */
  unknownRelatives(id: string, limit: number): string[];
}

/** @param history is told every relation */
export function createLineage(history: CollectedHistory): Lineage {
  const ledger = createLedger();
  const kinship = createKinship(ledger, history.writer);
  const children = createChildren(ledger, kinship, history.index);
  const plans = createPlans(ledger, kinship, children, history.writer);

  /** A task says who its parent is. */
  function claim(told: TaskChange | TaskFacts, parentId: string): void {
    const task = ledger.task(told.id);
    const parent = ledger.task(parentId);
    if (typeof told.args === 'string') {
      if (task.argument === undefined) task.argument = listArgument(told.args);
      if (task.named === null && told.args.startsWith(`('${parentId}'`)) task.named = parent.id;
    }
    if (parent.listed?.has(task.id) !== true && parent.claims?.has(task.id) !== true) {
      parent.claims ??= new Set();
      parent.claims.add(task.id);
      ledger.grow(parent, 1);
    }
    kinship.setParent(task, parent);
    if (told.kind === 'map' || told.kind === 'starmap') kinship.relate(parent.id, task.id, told.kind);
    kinship.consider(task, parent);
  }

  function finish(task: LinkedTask, end: 'succeeded' | 'failed'): void {
    // A stored success is never overwritten.
    if (task.end !== 'succeeded') task.end = end;
    for (const id of task.claims ?? []) kinship.consider(ledger.task(id), task);
  }

  function takeResult({ change, children: nodes }: StoredResult): void {
    const { id, groupId, parentId, type } = change;
    const standsAlone = groupId == null && parentId == null && nodes.length === 0 && type !== 'failed';
    if (standsAlone && ledger.findTask(id) === undefined) return;
    const task = ledger.task(id);
    plans.fulfil(task);
    const culprit = type === 'failed' ? brokenHeader(change) : null;
    if (culprit !== null) {
      task.isBroken = true;
      breakChord(culprit, task);
      // The children that it lists are those of the header task that found the other one failed.
      finish(task, 'failed');
      return;
    }
    if (isId(groupId)) {
      const result = type === 'succeeded' ? change.result : null;
      kinship.join(task, groupId, typeof result === 'string' ? resultDigest(result) : null);
    }
    children.list(nodes, task);
    if (isId(parentId) && parentId !== id) claim(change, parentId);
    // A step that follows a failed one is stored without the parent that it would have had.
    else if (parentId == null && type !== 'failed') kinship.setParent(task, null);
    if (type === 'succeeded' && nodes.length > 0) children.finish(task, nodes);
    if (type === 'succeeded' || type === 'failed') finish(task, type);
  }

  function breakChord(culprit: string, body: LinkedTask): void {
    const header = ledger.task(culprit);
    header.broke = body.id;
    if (header.group !== null) kinship.addBody(header.group, body.id);
  }

  function takeMessage(queued: QueuedTask): void {
    const { facts, chain, callbacks, errbacks, chord } = queued;
    const { id, groupId, parentId } = facts;
    const isLast = chain.length + callbacks.length + errbacks.length === 0 && chord === null;
    if (isLast && groupId == null && parentId == null) return;
    const task = ledger.task(id);
    if (isId(groupId)) {
      kinship.join(task, groupId, null);
      // Nothing else tells so of a task whose result is ignored. The body of a chord, which may carry the
      // group of its header, has a parent and waits for nobody.
      if (chord !== null || parentId == null) kinship.relate(groupId, id, 'group');
      const bodies = chord === null ? [] : firstOf(chord);
      for (const body of bodies) if (isId(body)) kinship.addBody(groupId, body);
    }
    if (isId(parentId) && parentId !== id) claim(facts, parentId);
    else if (parentId === null) kinship.setParent(task, null);
    if (!isLast) plans.announce(queued, task);
  }

  return {
    changed(change) {
      const { id, parentId } = change;
      if (parentId === null) {
        const task = ledger.findTask(id);
        if (task !== undefined) kinship.setParent(task, null);
      } else if (isId(parentId) && parentId !== id && isId(id)) claim(change, parentId);
    },
    stored(result) {
      if (isId(result.change.id)) takeResult(result);
    },
    queued(task) {
      if (isId(task.facts.id)) takeMessage(task);
    },
    saved(group) {
      children.list([group], null);
    },
    sized(groupId, size) {
      if (isId(groupId) && Number.isSafeInteger(size) && size > 0) kinship.setSize(groupId, size);
    },
    unknownRelatives: (id, limit) =>
      unknownAround(ledger, id, limit, (other) => history.index.stateOf(other) !== null),
  };
}
