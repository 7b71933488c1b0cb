/**
 * Decides what a task is to its parent: the next step of a chain, the body of a chord, an errback. No
 * event and no result says so; it follows from what Celery sends when, and from what it keeps account of.
 *
 * A task keeps a list of all that is sent while it runs, and of its callbacks and the step that follows
 * it, and its stored result holds that list (celery/app/trace.py). What it sends later is not on it: the
 * body of a chord, sent by the header task that ended last (celery/backends/redis.py), and errbacks, sent
 * in a group of their own (celery/backends/base.py, `_call_task_errbacks`). But not all that is missing
 * there is one of these: `on_success` may send tasks, `trail=False` keeps no list, and an earlier attempt
 * had a list of its own. So each rule asks for more, and where nothing more is known, nothing is said.
 */
import type { HistoryWriter } from '../../../history/history.ts';
import type { TaskRelationKind } from '../../../model.ts';
import type { ListArgument } from './header-results.ts';
import { isHeader } from './headers.ts';
import type { Candidate, Ledger, LinkedGroup, LinkedTask } from './ledger.ts';

/** Tasks that are compared with the results of one group: a chord has one body. */
const MAX_WAITING = 20;

/** Tasks behind the body of a chord that may carry the id of its group. */
const MAX_EXTRA = 8;

/** Takes in what is known of tasks and tells the history what follows from it. */
export interface Kinship {
  relate(parent: string, child: string, relation: TaskRelationKind): void;
  /** A member of a group as its own message or result says; `digest` of its result, if it succeeded. */
  join(task: LinkedTask, groupId: string, digest: number | null): void;
  /** A member of a group as another task or the group itself says. */
  count(groupId: string, memberId: string): void;
  /** @param parent `null`: it has none */
  setParent(task: LinkedTask, parent: LinkedTask | null): void;
  /** A group is known to be the header of a chord, of so many tasks. */
  setSize(groupId: string, size: number): void;
  /** The body that waits for all members of a group. */
  addBody(groupId: string, bodyId: string): void;
  /** A task whose parent is known, after anything of either has changed. */
  consider(task: LinkedTask, parent: LinkedTask): void;
}

/** @param history is told each relation, some of them more than once */
export function createKinship(ledger: Ledger, writer: HistoryWriter): Kinship {
  function relate(parent: string, child: string, relation: TaskRelationKind): void {
    if (parent !== child) writer.recordRelation({ parent, child, relation });
  }

  function join(task: LinkedTask, groupId: string, digest: number | null): void {
    if (task.group !== groupId) task.group = ledger.own(groupId);
    const group = addMember(groupId, task.id, digest);
    if (task.broke !== null) addBody(groupId, task.broke);
    decideAll(group);
  }

  function addMember(groupId: string, id: string, digest: number | null): LinkedGroup {
    const group = ledger.group(groupId);
    const known = group.members.get(id);
    if (known === undefined) {
      ledger.grow(group, 1);
      group.members.set(ledger.own(id), digest);
      for (const body of group.bodies) relateHeader(group, id, ledger.task(body));
    } else if (known === null && digest !== null) group.members.set(id, digest);
    if ((known ?? null) === null && digest !== null) {
      group.results += 1;
      group.sum += digest;
      for (const candidate of group.waiting?.values() ?? []) find(candidate, digest);
    }
    return group;
  }

  function addBody(groupId: string, bodyId: string): void {
    const group = ledger.group(groupId);
    if (group.bodies.has(bodyId)) return;
    ledger.grow(group, 1);
    const body = ledger.task(bodyId);
    body.header = group.id;
    group.bodies.add(body.id);
    for (const member of group.members.keys()) relateHeader(group, member, body);
  }

  function relateHeader(group: LinkedGroup, memberId: string, body: LinkedTask): void {
    const answer = isHeader(ledger, group, memberId, body);
    if (answer === true) relate(memberId, body.id, 'chord');
    else if (answer !== false) {
      answer.blocks ??= new Set();
      if (answer.blocks.has(memberId)) return;
      answer.blocks.add(memberId);
      ledger.grow(answer, 1);
    }
  }

  /** Looks again at members of groups that waited for the parent of this task. */
  function unblock(task: LinkedTask): void {
    const { blocks } = task;
    task.blocks = null;
    for (const id of blocks ?? []) {
      const group = ledger.findGroup(ledger.task(id).group ?? '');
      for (const body of group?.bodies ?? []) relateHeader(group as LinkedGroup, id, ledger.task(body));
    }
    const group = task.group === null ? undefined : ledger.findGroup(task.group);
    if (group !== undefined) decideAll(group);
  }

  function setParent(task: LinkedTask, parent: LinkedTask | null): void {
    if (parent === null ? task.isRoot || task.parent !== null : task.parent === parent.id) return;
    if (parent === null) task.isRoot = true;
    else task.parent = parent.id;
    unblock(task);
  }

  /** Which of the tasks that were called with a list is the body of this group's chord. */
  function decideAll(group: LinkedGroup): void {
    for (const [id, candidate] of group.waiting ?? []) {
      const body = ledger.findTask(id);
      if (body === undefined || !isBody(group, body, candidate)) continue;
      group.waiting?.delete(id);
      addBody(group.id, id);
    }
  }

  function isBody(group: LinkedGroup, body: LinkedTask, candidate: Candidate): boolean {
    const { argument } = body;
    if (argument == null) return false;
    const { size } = group;
    if (argument.visible !== null) {
      return candidate.missing === 0 && (size ?? group.results) > argument.count;
    }
    // A member itself may have sent its own result on. It does not know those of the others.
    if (argument.count === 1 && size === null && !candidate.isSibling) return false;
    if (size !== null && size !== argument.count) return false;
    return isResultsOf(argument, group) || isResultsOf(argument, headerOf(group, body));
  }

  /** A group without what descends from a task that may be the body of its chord. */
  function headerOf(group: LinkedGroup, body: LinkedTask): Counted {
    const extra = group.members.size - (body.argument?.count ?? 0);
    if (extra <= 0 || extra > MAX_EXTRA) return group;
    const members = new Map<string, number | null>();
    let results = 0;
    let sum = 0;
    for (const [id, digest] of group.members) {
      if (isHeader(ledger, group, id, body) === false) continue;
      members.set(id, digest);
      if (digest === null) continue;
      results += 1;
      sum += digest;
    }
    return { members, results, sum };
  }

  function setSize(groupId: string, size: number): void {
    const group = ledger.group(groupId);
    group.size = size;
    decideAll(group);
  }

  function consider(task: LinkedTask, parent: LinkedTask): void {
    considerStep(task, parent);
    if (parent.errbacks?.has(task.id) === true) relate(parent.id, task.id, 'link_error');
    const isSentLater = parent.end !== 'open' && !parent.isPartial && parent.listed?.has(task.id) !== true;
    if (!isSentLater) return;
    if (parent.end === 'failed') considerErrback(task, parent);
    else considerBody(task, parent);
  }

  /** A group that is stored names the step before each of its members, or the header whose body it is. */
  function considerStep(task: LinkedTask, parent: LinkedTask): void {
    if (task.after === null) return;
    if (task.after === parent.id) relate(parent.id, task.id, 'chain');
    else if (task.after === parent.group || parent.groups?.has(task.after) === true) {
      addBody(task.after, task.id);
    }
  }

  /**
   * Errbacks are a group that the failed task did not list, and are called with its id. Immutable ones are
   * not: they look like the header of a chord that the task replaced itself with.
   */
  function considerErrback(task: LinkedTask, parent: LinkedTask): void {
    if (task.group === null || task.group === parent.group) return;
    if (task.named === parent.id) relate(parent.id, task.id, 'link_error');
  }

  /**
   * The body's parent is the header task that ended last; of a chord that a worker sent as a step of a
   * chain, the step before it, which lists the header. Celery 5.3 and later give the body the group id
   * of its header.
   */
  function considerBody(task: LinkedTask, parent: LinkedTask): void {
    if (task.group !== null && (task.group === parent.group || parent.groups?.has(task.group) === true)) {
      addBody(task.group, task.id);
      return;
    }
    const { argument } = task;
    if (argument === undefined || argument === null) return;
    for (const id of parent.groups ?? []) compare(ledger.group(id), task.id, argument, true);
    if (parent.group !== null) compare(ledger.group(parent.group), task.id, argument, false);
  }

  /** Compares what a task was called with to the results of a group, now and whenever there are more. */
  function compare(group: LinkedGroup, id: string, argument: ListArgument, isSibling: boolean): void {
    if (group.bodies.has(id)) return;
    group.waiting ??= new Map();
    const known = group.waiting.get(id);
    if (known !== undefined) known.isSibling ||= isSibling;
    else if (group.waiting.size >= MAX_WAITING) return;
    else group.waiting.set(id, candidateOf(argument, group, isSibling));
    decideAll(group);
  }

  return {
    relate,
    join,
    count(groupId, memberId) {
      const group = addMember(groupId, memberId, null);
      if (group.listed.has(memberId)) return;
      group.listed.add(ledger.own(memberId));
      ledger.grow(group, 1);
      for (const body of group.bodies) relateHeader(group, memberId, ledger.task(body));
    },
    setParent,
    setSize,
    addBody,
    consider,
  };
}

/** Tasks and their results. */
type Counted = Pick<LinkedGroup, 'members' | 'results' | 'sum'>;

function isResultsOf({ count, sum }: ListArgument, { members, results, sum: all }: Counted): boolean {
  return results === count && members.size === count && all === sum;
}

function candidateOf(argument: ListArgument, group: LinkedGroup, isSibling: boolean): Candidate {
  const left = new Map<number, number>();
  for (const digest of argument.visible ?? []) left.set(digest, (left.get(digest) ?? 0) + 1);
  const candidate = { isSibling, left, missing: argument.visible?.length ?? 0 };
  if (candidate.missing > 0) for (const digest of group.members.values()) find(candidate, digest);
  return candidate;
}

/** Notes that one more of the results is among the items of a list that was cut. */
function find(candidate: Candidate, digest: number | null): void {
  const times = digest === null ? 0 : (candidate.left.get(digest) ?? 0);
  if (digest === null || times === 0) return;
  candidate.left.set(digest, times - 1);
  candidate.missing -= 1;
}
