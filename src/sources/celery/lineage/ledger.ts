/**
 * What is held of tasks and groups to find out how they belong together: ids, nothing of their values.
 * Tasks that stand alone are not held at all. What was held longest goes when there is too much.
 */
import type { ListArgument } from './header-results.ts';

/** What is known of a task among others. */
export interface LinkedTask {
  readonly id: string;
  /** As its own message or result says. */
  group: string | null;
  /** The parent that was told last; never the task itself. */
  parent: string | null;
  /** It is known to have no parent. */
  isRoot: boolean;
  /** The step before it in its chain, or the header group it is the body of, as a stored group names it. */
  after: string | null;
  /** By its stored result, which a worker writes with the list of its children. */
  end: 'open' | 'succeeded' | 'failed';
  /** Tasks that its stored results list as its children, members of groups among them. */
  listed: Set<string> | null;
  /** Not all of its children are held. */
  isPartial: boolean;
  /** Groups that its stored results list. */
  groups: Set<string> | null;
  /** Tasks that name it as their parent and are not listed, as far as is known. */
  claims: Set<string> | null;
  /** Tasks that its message announced: the step that follows, callbacks. */
  next: Set<string> | null;
  /** Ids of its errbacks. */
  errbacks: Set<string> | null;
  /** Callbacks that had no id yet, and whether a step of a chain follows them. */
  awaits: { readonly callbacks: number; readonly chain: boolean } | null;
  /** Whom it sent last and last but one, when it succeeded. */
  ending: readonly (SentLast | undefined)[] | null;
  /** Its first argument, if that is a list; `undefined` while its arguments are not known. */
  argument: ListArgument | null | undefined;
  /** It stands for the body of a chord that failed, and never ran. */
  isBroken: boolean;
  /** Members of groups of which it depends on this task's parent whether they are header tasks. */
  blocks: Set<string> | null;
  /** A task whose id is its first argument. */
  named: string | null;
  /** The body of a chord that ended because this task failed. */
  broke: string | null;
  /** The group whose results it is called with: it is the body of that chord. */
  header: string | null;
  /** What the message of another task says of it. */
  plan: {
    readonly parent: string | null;
    readonly root: string | null;
    readonly group: string | null;
  } | null;
  bytes: number;
}

/** A task, or a group of tasks, that another task sent. */
export interface SentLast {
  readonly ids: readonly string[];
  readonly isGroup: boolean;
}

/** A group of tasks. */
export interface LinkedGroup {
  readonly id: string;
  /** Each with the digest of its result, `null` while it has none. */
  readonly members: Map<string, number | null>;
  /** Members that whoever sent the group, or stored it, counts among it. */
  readonly listed: Set<string>;
  /** Members that have a result, and their digests added up. */
  results: number;
  sum: number;
  /** Tasks that run once all members have succeeded: one, but for a body that is a group itself. */
  readonly bodies: Set<string>;
  /** How many header tasks it has, if it is known to be the header of a chord. */
  size: number | null;
  /** Tasks that may be its body, once more is known of it. */
  waiting: Map<string, Candidate> | null;
  bytes: number;
}

/** A task that was called with a list. */
export interface Candidate {
  /** It was sent by the task that sent the group, not by a member. */
  isSibling: boolean;
  /** Of a list that was cut: what was not found yet among the results, and how many that are. */
  readonly left: Map<number, number>;
  missing: number;
}

/** Holds tasks and groups within a bound. */
export interface Ledger {
  /** Made when it is not there. */
  task(id: string): LinkedTask;
  findTask(id: string): LinkedTask | undefined;
  /** Made when it is not there. */
  group(id: string): LinkedGroup;
  findGroup(id: string): LinkedGroup | undefined;
  /** The id as it is held, so that no message stays in memory for the sake of an id that was cut out of it. */
  own(id: string): string;
  /** An entry holds so many more ids. */
  grow(entry: LinkedTask | LinkedGroup, ids: number): void;
  /** Estimated. */
  readonly bytes: number;
}

/** Most memory, estimated, in bytes. */
const LEDGER_BYTES = 64 * 1024 * 1024;
/** As measured with ids of 36 characters: an entry with its id and its place in the table; an id in a set. */
const ENTRY_BYTES = 320;
const ID_BYTES = 100;
/** How much is left when room was made. */
const KEPT = 0.9;

/** @param maxBytes for tests */
export function createLedger(maxBytes = LEDGER_BYTES): Ledger {
  const tasks = new Map<string, LinkedTask>();
  const groups = new Map<string, LinkedGroup>();
  let bytes = 0;
  let groupBytes = 0;

  /** Drops many at once: finding the oldest entry of a table costs as much as were dropped before it. */
  function makeRoom(): void {
    if (bytes <= maxBytes) return;
    const most = maxBytes * KEPT;
    for (const group of groups.values()) {
      if (groupBytes <= most / 2) break;
      groups.delete(group.id);
      groupBytes -= group.bytes;
      bytes -= group.bytes;
    }
    for (const task of tasks.values()) {
      if (bytes <= most) break;
      tasks.delete(task.id);
      bytes -= task.bytes;
    }
  }

  function grow(entry: LinkedTask | LinkedGroup, ids: number): void {
    entry.bytes += ids * ID_BYTES;
    // An entry that was dropped meanwhile is counted no more.
    if ('members' in entry) {
      if (groups.get(entry.id) !== entry) return;
      groupBytes += ids * ID_BYTES;
    } else if (tasks.get(entry.id) !== entry) return;
    bytes += ids * ID_BYTES;
  }

  function own(id: string): string {
    return tasks.get(id)?.id ?? groups.get(id)?.id ?? copyOf(id);
  }

  return {
    task(id) {
      const known = tasks.get(id);
      if (known !== undefined) return known;
      const task = newTask(own(id));
      tasks.set(task.id, task);
      bytes += task.bytes;
      makeRoom();
      return task;
    },
    findTask: (id) => tasks.get(id),
    group(id) {
      const known = groups.get(id);
      if (known !== undefined) return known;
      const group: LinkedGroup = {
        id: own(id),
        members: new Map(),
        listed: new Set(),
        results: 0,
        sum: 0,
        bodies: new Set(),
        size: null,
        waiting: null,
        bytes: ENTRY_BYTES,
      };
      groups.set(group.id, group);
      bytes += group.bytes;
      groupBytes += group.bytes;
      makeRoom();
      return group;
    },
    findGroup: (id) => groups.get(id),
    own,
    grow,
    get bytes() {
      return bytes;
    },
  };
}

function newTask(id: string): LinkedTask {
  return {
    id,
    group: null,
    parent: null,
    isRoot: false,
    after: null,
    end: 'open',
    listed: null,
    isPartial: false,
    groups: null,
    claims: null,
    next: null,
    errbacks: null,
    awaits: null,
    ending: null,
    argument: undefined,
    isBroken: false,
    blocks: null,
    named: null,
    broke: null,
    header: null,
    plan: null,
    bytes: ENTRY_BYTES,
  };
}

/** JavaScript keeps a long text in memory for as long as a part of it is; this part is a text of its own. */
function copyOf(id: string): string {
  return ` ${id}`.slice(1);
}
