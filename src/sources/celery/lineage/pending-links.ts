/**
 * Tasks and groups whose relations are not all known yet: ids, no values. Tasks without relations are not held. At the
 * limit, the entry that was added first is dropped.
 */

/** The data about a task that is related to others. */
export interface LinkedTask {
  readonly id: string;
  /** The group that its own message or result names. */
  group: string | null;
  /** The parent that was reported last; never the task itself. */
  parent: string | null;
  /** A message has reported that it has no parent. For a task that replaced itself, both may be reported. */
  isRoot: boolean;
  /** How it ended, by its stored result, which a worker writes together with the list of its children. */
  end: 'open' | 'succeeded' | 'failed';
  /** What it sent, by its stored results; `null` before one of them lists children. */
  children: ListedChildren | null;
  /** Tasks that name it as their parent and that it has not listed, if known. */
  claims: Set<string> | null;
  /** What its own message announced; `null` before a message that announces something. */
  announced: AnnouncedTasks | null;
  /** What the messages of other tasks announce about it. */
  expected: ExpectedFacts | null;
  /** By a stored group: the step before it in its chain, or the group of the chord whose body it is. */
  follows: string | null;
  /** Its parent, if the id of that is its first argument. */
  namedParent: string | null;
  /** The header of the chord whose body it is. */
  headerGroup: string | null;
  /** It is the body of a chord that failed, so it never ran. */
  isBrokenBody: boolean;
  /** The body of a chord that never ran because this task failed. */
  brokenBody: string | null;
  /** Members of groups that are header tasks or not, depending on the parent of this task. */
  undecidedMembers: Set<string> | null;
  bytes: number;
}

/** Children in the stored results of a task. */
export interface ListedChildren {
  /** Tasks, members of groups among them. */
  tasks: Set<string> | null;
  groups: Set<string> | null;
  /** The list is incomplete, so absence proves nothing. */
  isPartial: boolean;
  /** What it sent last and last but one, if it succeeded. */
  last: readonly (SentLast | undefined)[] | null;
}

/** A task, or a group of tasks, that another task sent. */
export interface SentLast {
  readonly ids: readonly string[];
  readonly isGroup: boolean;
}

/** Tasks that the message of a task announces. */
export interface AnnouncedTasks {
  /** The step that follows in its chain, and callbacks. */
  next: Set<string> | null;
  errbacks: Set<string> | null;
  /** Callbacks without an id; `null` if there are none. */
  unnamedCallbacks: { readonly count: number; readonly isChainBehind: boolean } | null;
}

/** What the message of another task announces about a task; `null` if nothing. */
export interface ExpectedFacts {
  readonly parent: string | null;
  readonly root: string | null;
  readonly group: string | null;
  readonly name: string | null;
}

/** A group of tasks. */
export interface LinkedGroup {
  readonly id: string;
  readonly members: Set<string>;
  /** Members named by the task that sent the group, or by the stored group. */
  readonly listed: Set<string>;
  /** Tasks that run once all members have succeeded: one, unless the body is itself a group. */
  readonly bodies: Set<string>;
  bytes: number;
}

/** All of them. Look entries up in the maps; make them with {@link linkedTask} and {@link linkedGroup}. */
export interface PendingLinks {
  readonly tasks: Map<string, LinkedTask>;
  readonly groups: Map<string, LinkedGroup>;
  /** Estimated, of tasks and groups. */
  bytes: number;
  /** Of them, the groups. */
  groupBytes: number;
}

/** Most memory, estimated. */
const MAX_BYTES = 64 * 1024 * 1024;
/** As measured with ids of 36 characters: an entry with its id and its slot in the map; an id in a set. */
const ENTRY_BYTES = 320;
const ID_BYTES = 100;
/** The share of it that remains after entries were dropped. */
const KEPT = 0.9;

export function createPendingLinks(): PendingLinks {
  return { tasks: new Map(), groups: new Map(), bytes: 0, groupBytes: 0 };
}

/** The entry of a task, created if there is none. */
export function linkedTask(links: PendingLinks, id: string): LinkedTask {
  const known = links.tasks.get(id);
  if (known !== undefined) return known;
  const task = newTask(ownId(links, id));
  links.tasks.set(task.id, task);
  links.bytes += task.bytes;
  makeRoom(links);
  return task;
}

/** The entry of a group, created if there is none. */
export function linkedGroup(links: PendingLinks, id: string): LinkedGroup {
  const known = links.groups.get(id);
  if (known !== undefined) return known;
  const group = newGroup(ownId(links, id));
  links.groups.set(group.id, group);
  links.bytes += group.bytes;
  links.groupBytes += group.bytes;
  makeRoom(links);
  return group;
}

/** The same id as a text of its own, so that it does not keep the message in memory that it was cut from. */
export function ownId(links: PendingLinks, id: string): string {
  return links.tasks.get(id)?.id ?? links.groups.get(id)?.id ?? ` ${id}`.slice(1);
}

/**
 * Adds an id to a set that belongs to a task.
 *
 * @param set `null` while it is empty
 * @returns the set
 */
export function withId(
  links: PendingLinks,
  task: LinkedTask,
  set: Set<string> | null,
  id: string,
): Set<string> {
  if (set?.has(id) === true) return set;
  const added = ID_BYTES;
  task.bytes += added;
  // An entry that was dropped meanwhile is no longer counted.
  if (links.tasks.get(task.id) === task) links.bytes += added;
  return (set ?? new Set()).add(ownId(links, id));
}

/** Counts one more id of a group. */
export function growGroup(links: PendingLinks, group: LinkedGroup): void {
  group.bytes += ID_BYTES;
  if (links.groups.get(group.id) !== group) return;
  links.bytes += ID_BYTES;
  links.groupBytes += ID_BYTES;
}

/** Drops many entries at once: finding the oldest entry of a map takes time for each that was dropped before. */
function makeRoom(links: PendingLinks): void {
  if (links.bytes <= MAX_BYTES) return;
  const kept = MAX_BYTES * KEPT;
  for (const group of links.groups.values()) {
    if (links.groupBytes <= kept / 2) break;
    links.groups.delete(group.id);
    links.groupBytes -= group.bytes;
    links.bytes -= group.bytes;
  }
  for (const task of links.tasks.values()) {
    if (links.bytes <= kept) break;
    links.tasks.delete(task.id);
    links.bytes -= task.bytes;
  }
}

function newTask(id: string): LinkedTask {
  return {
    id,
    group: null,
    parent: null,
    isRoot: false,
    end: 'open',
    children: null,
    claims: null,
    announced: null,
    expected: null,
    follows: null,
    namedParent: null,
    headerGroup: null,
    isBrokenBody: false,
    brokenBody: null,
    undecidedMembers: null,
    bytes: ENTRY_BYTES,
  };
}

function newGroup(id: string): LinkedGroup {
  return {
    id,
    members: new Set(),
    listed: new Set(),
    bodies: new Set(),
    bytes: ENTRY_BYTES,
  };
}

/** Whether the stored results of a task list this task as a child. */
export function hasListed(task: LinkedTask, childId: string): boolean {
  return task.children?.tasks?.has(childId) === true;
}

/** Groups that the stored results of a task list as its children. */
export function groupsOf(task: LinkedTask): ReadonlySet<string> {
  return task.children?.groups ?? NONE;
}

const NONE: ReadonlySet<string> = new Set();
