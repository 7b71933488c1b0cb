/** What the client of a canvas run knows, and how it is compared with what is shown. */

import type { Task, TaskRelation, TaskTree } from '../../src/model.ts';
import { relationsOf } from '../graph/graph-kit.ts';

/** A task as the client knows it. Times in Unix seconds. */
export interface CanvasTask {
  readonly case: string;
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly parent: string | null;
  readonly root: string;
  readonly group: string | null;
  readonly chord: string | null;
  /** The worker's clock at its last run. */
  readonly ran_at: number | null;
  readonly date_done: number | null;
  /** What the result backend tells it in the end. */
  readonly client: string;
  readonly retries: number | null;
  readonly kind?: string | null;
  /** It never ran, for another task failed. */
  readonly never_sent?: boolean;
  /** Its result is not stored. */
  readonly ignored?: boolean;
}

/** All that the client knows. */
export interface CanvasTruth {
  readonly tasks: readonly CanvasTask[];
  readonly relations: readonly TaskRelation[];
}

/** Where tasks are looked up. */
export interface Shown {
  task(id: string): Promise<Task | null>;
  tree(id: string): Promise<TaskTree | null>;
}

/** Clocks are the same; a busy machine runs the hook of a task late. */
const CLOSE_MS = 3_000;

/**
 * What is wrong, in words.
 *
 * @param sawWaiting whether messages were read while they waited: what only they tell may else be missing
 */
export async function differencesOf(
  { tasks, relations }: CanvasTruth,
  shown: Shown,
  sawWaiting: boolean,
): Promise<string[]> {
  const wrong: string[] = [];
  const told = new Map<string, TaskRelation>();
  for (const truth of tasks) {
    const task = await shown.task(truth.id);
    if (task === null) wrong.push(`${truth.case}: ${truth.id} (${truth.name}) is missing`);
    else wrong.push(...differencesOfTask(truth, task, sawWaiting));
    const tree = await shown.tree(truth.id);
    for (const relation of tree === null ? [] : relationsOf(tree)) told.set(keyOf(relation), relation);
  }
  return [...wrong, ...differencesOfRelations(tasks, relations, [...told.values()], sawWaiting)];
}

/** What is told and not so, in words; what is missing is not. */
export async function falsehoodsOf({ tasks, relations }: CanvasTruth, shown: Shown): Promise<string[]> {
  const wrong: string[] = [];
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const expected = new Map(relations.map((relation) => [keyOf(relation), relation.relation]));
  for (const truth of tasks) {
    const task = await shown.task(truth.id);
    const { groupId = null, chordId = null } = task ?? {};
    if (groupId !== null && groupId !== truth.group)
      wrong.push(`${truth.case}: ${truth.id} is in ${groupId}`);
    if (chordId !== null && chordId !== truth.chord)
      wrong.push(`${truth.case}: ${chordId} waits for ${truth.id}`);
    const tree = await shown.tree(truth.id);
    for (const relation of tree === null ? [] : relationsOf(tree)) {
      // A group may be told before what shows that its member is the body of a chord.
      if (relation.relation === 'child' || relation.relation === 'group') continue;
      if (expected.get(keyOf(relation)) !== relation.relation) wrong.push(sentence(relation, byId));
    }
  }
  return wrong;
}

function differencesOfTask(truth: CanvasTask, task: Task, sawWaiting: boolean): string[] {
  const wrong: string[] = [];
  const compare = (field: string, got: unknown, ...allowed: unknown[]): void => {
    if (allowed.includes(got ?? null)) return;
    wrong.push(
      `${truth.case}: ${field} of ${truth.id} (${truth.name}) is ${got}, should be ${allowed.join(' or ')}`,
    );
  };
  const near = (field: string, got: Date | null | undefined, expected: number | null): void => {
    if (expected === null) return;
    const distance = Math.abs((got?.getTime() ?? 0) - expected * 1000);
    if (!(distance < CLOSE_MS)) wrong.push(`${truth.case}: ${field} of ${truth.id} is ${got?.toISOString()}`);
  };
  const isUnseen = truth.never_sent === true && !sawWaiting;
  compare('state', task.state, truth.state);
  compare('name', task.name, truth.name, ...(isUnseen ? [null] : []));
  compare('parent', task.parentId, truth.parent, ...(isUnseen ? [null] : []));
  // Of a body that never ran nothing tells a root.
  compare('root', task.rootId, truth.root, ...(isUnseen || truth.root === truth.id ? [null] : []));
  compare(
    'group',
    task.groupId,
    truth.group,
    ...(isUnseen || (truth.ignored === true && !sawWaiting) ? [null] : []),
  );
  compare('chord', task.chordId, truth.chord, ...(sawWaiting && !isSentByWorker(truth) ? [] : [null]));
  compare('kind', task.kind, truth.kind ?? null);
  near('started', task.started, truth.state === 'REVOKED' ? null : truth.ran_at);
  near('finished', task.finished, truth.date_done);
  return wrong;
}

/**
 * Without their messages, steps of a chain and callbacks are seen to be children only, and so is the body of a chord up
 * to Celery 5.5.
 */
const BY_MESSAGE = new Set(['chain', 'link', 'link_error', 'chord']);

/** A worker has sent these, to workers that took them at once: their messages did not wait to be read. */
function isSentByWorker({ case: name }: CanvasTask): boolean {
  return /^(?:spawn a chord|replaced by a group)/.test(name);
}

function differencesOfRelations(
  tasks: readonly CanvasTask[],
  truth: readonly TaskRelation[],
  told: readonly TaskRelation[],
  sawWaiting: boolean,
): string[] {
  const wrong: string[] = [];
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const expected = new Map(truth.map((relation) => [keyOf(relation), relation]));
  const found = new Map(told.map((relation) => [keyOf(relation), relation]));
  if (found.size !== told.length) wrong.push('a relation is listed twice');
  for (const relation of told) {
    const right = expected.get(keyOf(relation))?.relation;
    if (right === relation.relation) continue;
    const needsMessage = right !== undefined && BY_MESSAGE.has(right);
    const child = byId.get(relation.child);
    const isRead = sawWaiting && !(right === 'chord' && child !== undefined && isSentByWorker(child));
    if (!isRead && relation.relation === 'child' && needsMessage) continue;
    wrong.push(`${sentence(relation, byId)}, should be ${right}`);
  }
  for (const relation of truth) {
    if (found.has(keyOf(relation))) continue;
    const child = byId.get(relation.child);
    const isChord = relation.relation === 'chord';
    const isUntold = child?.never_sent === true || child?.ignored === true || isChord;
    if (!sawWaiting && isUntold) continue;
    if (isChord && child !== undefined && isSentByWorker(child)) continue;
    wrong.push(`${sentence(relation, byId)}: not told`);
  }
  return wrong;
}

/** Membership of a group stands beside any other relation. */
function keyOf({ parent, child, relation }: TaskRelation): string {
  return `${parent} ${child} ${relation === 'group'}`;
}

function sentence({ parent, child, relation }: TaskRelation, tasks: ReadonlyMap<string, CanvasTask>): string {
  return `${tasks.get(child)?.case}: ${parent} -> ${child} (${tasks.get(child)?.name}) is ${relation}`;
}
