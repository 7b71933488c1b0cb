/** Cases on one task and its workflow. */
import { inspect, isDeepStrictEqual } from 'node:util';
import type { Task, TaskDetail, TaskTree } from '../model.ts';
import { type Bench, type Checks, NO_SEED } from './bench.ts';
import { held } from './listing.ts';
import { fail } from './shape.ts';
import { SHAPES } from './shapes.ts';

/** Ids that no task has. Some are names of members of every JavaScript object. */
const UNKNOWN = ['no-such-task', '__proto__', 'constructor', 'toString', '*', '../..', 'x'.repeat(512), ' '];
const MOST_DETAILS = 60;
/** What the list and a task's own page say alike. */
const OF_DETAIL = [
  'state',
  'name',
  'worker',
  'queue',
  'runtime',
  'retries',
  'parentId',
  'rootId',
  'groupId',
  'chordId',
  'progress',
  'sent',
  'received',
  'started',
  'finished',
  'timestamp',
  'eta',
  'expires',
] as const;
/** What a workflow shows of its tasks. */
const OF_TREE = [
  'state',
  'sent',
  'received',
  'eta',
  'started',
  'finished',
  'waitSeconds',
  'retries',
] as const;

async function detailOf(bench: Bench, id: string): Promise<TaskDetail | null> {
  const detail = await bench.read('getTask', (context) => bench.sources.tasks?.getTask(id, context) ?? null);
  if (detail !== null) SHAPES.taskDetail(detail, `getTask(${JSON.stringify(id)})`);
  return detail;
}

async function treeOf(bench: Bench, id: string): Promise<TaskTree | null> {
  const tree = await bench.read(
    'getTaskTree',
    (context) => bench.sources.tasks?.getTaskTree?.(id, context) ?? null,
  );
  if (tree !== null) SHAPES.taskTree(tree, `getTaskTree(${JSON.stringify(id)})`);
  return tree;
}

/** The tree of a listed task, with the ids in the tree. */
async function knownTree(
  bench: Bench,
  id: string,
): Promise<TaskTree & { readonly ids: ReadonlySet<string> }> {
  const tree = await treeOf(bench, id);
  if (tree === null) fail(`getTaskTree(${id})`, 'a tree, for the task is listed', tree);
  const ids = new Set(tree.tasks.map((task) => task.id));
  if (ids.size < tree.tasks.length) fail(`getTaskTree(${id}).tasks`, 'each task once', tree.tasks.length);
  if (!ids.has(id)) fail(`getTaskTree(${id}).tasks`, 'the asked task among them', [...ids]);
  return { ...tree, ids };
}

/** Rows with relations first: only their trees are worth checking. */
function tiedFirst(rows: readonly Task[]): readonly Task[] {
  const tied = (row: Task) => Number(Boolean(row.parentId ?? row.groupId ?? row.chordId));
  return rows.toSorted((a, b) => tied(b) - tied(a)).slice(0, MOST_DETAILS);
}

function expectSame(what: string, shown: Task, listed: Task, fields: readonly (keyof Task)[]): void {
  for (const field of fields) {
    const [is, should] = [shown[field] ?? null, listed[field] ?? null];
    if (!isDeepStrictEqual(is, should)) fail(`${what}.${field}`, inspect(should), is);
  }
}

async function expectUnknown(
  bench: Bench,
  call: string,
  read: (bench: Bench, id: string) => Promise<unknown>,
): Promise<void> {
  for (const id of UNKNOWN) {
    const found = await read(bench, id);
    if (found !== null) fail(`${call}(${JSON.stringify(id)})`, 'null', found);
  }
}

/** Cases on `getTask`. */
export const DETAIL_CHECKS: Checks = {
  'returns null for an unknown id': (bench) => expectUnknown(bench, 'getTask', detailOf),

  'returns a task with the same values as its list row': async (bench) => {
    const { rows } = await held(bench);
    for (const row of rows.slice(0, MOST_DETAILS)) {
      const detail = await detailOf(bench, row.id);
      if (detail === null) fail(`getTask(${row.id})`, 'the task that the list shows', detail);
      if (detail.id !== row.id) fail(`getTask(${row.id}).id`, row.id, detail.id);
      expectSame(`getTask(${row.id})`, detail, row, OF_DETAIL);
    }
  },

  'lists the timeline from the oldest change to the current state': async (bench) => {
    const { rows } = await held(bench);
    let changes = 0;
    for (const row of rows.slice(0, MOST_DETAILS)) {
      const detail = await detailOf(bench, row.id);
      changes += detail?.timeline?.length ?? 0;
      const latest = new Map<string | null, number>();
      for (const { worker, timestamp } of detail?.timeline ?? []) {
        // Clocks of two machines differ, so a worker may seem to receive a task before it was sent. Compare
        // per worker.
        if (timestamp && timestamp.getTime() < (latest.get(worker) ?? -Infinity)) {
          fail(`getTask(${row.id}).timeline of ${worker}`, 'the oldest change first', detail?.timeline);
        }
        if (timestamp) latest.set(worker, timestamp.getTime());
      }
      const states = (detail?.timeline ?? []).map((entry) => entry.state);
      if (states.length > 0 && !states.includes(row.state)) {
        fail(`getTask(${row.id}).timeline`, `its state ${row.state} in it`, states);
      }
    }
    if (changes === 0) bench.skip('No listed task has a timeline.');
  },
};

/** Cases on `getTaskTree`. */
export const TREE_CHECKS: Checks = {
  'returns null for an unknown id': (bench) => expectUnknown(bench, 'getTaskTree', treeOf),

  'contains the requested task, its root, and each task once': async (bench) => {
    const { rows } = await held(bench);
    for (const row of tiedFirst(rows)) {
      const tree = await knownTree(bench, row.id);
      const root = row.rootId ?? row.id;
      if (tree.rootId !== root) fail(`getTaskTree(${row.id}).rootId`, root, tree.rootId);
    }
  },

  'returns a task in its tree with the same values as its list row': async (bench) => {
    const { rows } = await held(bench);
    const listed = new Map(rows.map((row) => [row.id, row]));
    for (const row of tiedFirst(rows).slice(0, 10)) {
      for (const task of (await knownTree(bench, row.id)).tasks) {
        expectSame(`${task.id} in getTaskTree(${row.id})`, task, listed.get(task.id) ?? task, OF_TREE);
      }
    }
  },

  'reaches every relative from any task of the workflow': async (bench) => {
    const { rows } = await held(bench);
    const listed = new Set(rows.map((row) => row.id));
    let compared = 0;
    for (const row of tiedFirst(rows)) {
      const tree = await knownTree(bench, row.id);
      if (tree.truncated) continue;
      const mates = row.groupId ? rows.filter((other) => other.groupId === row.groupId) : [];
      const relatives = [row.parentId, row.chordId, ...mates.map((mate) => mate.id)];
      for (const relative of relatives) {
        if (!relative || relative === row.id || !listed.has(relative)) continue;
        compared += 1;
        if (!tree.ids.has(relative)) fail(`getTaskTree(${row.id}).tasks`, `${relative} in it`, [...tree.ids]);
        const back = await knownTree(bench, relative);
        if (!back.truncated && !back.ids.has(row.id)) {
          fail(`getTaskTree(${relative}).tasks`, `${row.id} in it`, [...back.ids]);
        }
      }
    }
    if (compared === 0) bench.skip('No listed task has a relative in the list.');
  },

  'leaves out unrelated tasks': async (bench) => {
    if (!bench.seeded) return bench.skip(NO_SEED);
    const tree = await knownTree(bench, 'flow-2');
    const strangers = [...tree.ids].filter((id) => !id.startsWith('flow-'));
    if (strangers.length > 0) fail('getTaskTree(flow-2).tasks', 'no task of another workflow', strangers);
  },
};
