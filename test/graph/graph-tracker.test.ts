import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createGraphTracker as create,
  type GraphNode,
  type GraphSince,
  type GraphTrackerOptions,
  parseGraphCursor,
} from '../../src/graph.ts';
import type { Task, TaskTree } from '../../src/model.ts';
import { runs, seedOf, unsampled } from '../helpers/cases.ts';
import { T0 } from '../history/telling.ts';
import { buildGraph, finish, type LimitedGraph } from './graph-kit.ts';

const graphOf = (tasks: readonly Task[]): TaskTree => ({ rootId: 'a', tasks });
/** A tracker as the routes use it: each answer is issued, `since` comes as text or as milliseconds. */
function createGraphTracker(options: GraphTrackerOptions = {}) {
  const tracker = create(options);
  return {
    observe(taskId: string, limit: number, tree: TaskTree, generatedAt: number) {
      const view = finish(tracker.observe(taskId, tree));
      view.issue(generatedAt, limit);
      return {
        cursor: view.cursor(limit),
        updatesSince(since: string | number | GraphSince | null) {
          const position = typeof since === 'string' ? parseGraphCursor(since) : since;
          const moment = typeof position === 'number' ? { time: new Date(position) } : position;
          return view.changesSince(moment, limit);
        },
      };
    },
  };
}

/** A position of the graph of a cursor that was never reached. */
function laterThan(cursor: string): GraphSince | null {
  const position = parseGraphCursor(cursor);
  return position && { ...position, sequence: 46_655 };
}

const task = (id: string, more: Partial<Task> = {}): Task => ({ id, state: 'STARTED', ...more });
const ids = (nodes: readonly GraphNode[]) => nodes.map(({ id }) => id);

/** What a client keeps of a graph: its shape, and of each node what updates carry. */
type Snapshot = { shape: string[]; nodes: Map<string, string> };
const printOf = ({ task: seen, members }: GraphNode) => JSON.stringify([seen?.state, seen?.retries, members]);
const shapeOf = ({ nodes, edges }: LimitedGraph) => [
  ...nodes.map(({ id, kind, task: seen }) => `${id} ${kind} ${seen === null}`).sort(),
  ...edges.map(({ id }) => id).sort(),
];
const read = (tree: TaskTree): Snapshot => readGraph(buildGraph(tree, 'a', 100));
const readGraph = (graph: LimitedGraph): Snapshot => ({
  shape: shapeOf(graph),
  nodes: new Map(graph.nodes.map((node) => [node.id, printOf(node)])),
});
const sorted = ({ shape, nodes }: Snapshot) => ({ shape, nodes: [...nodes].sort() });

/** A few tasks of one workflow, each step changing some of them. */
const workflow = fc.array(
  fc.record({
    id: fc.constantFrom('b', 'c', 'd', 'e'),
    state: fc.constantFrom('PENDING', 'STARTED', 'SUCCESS'),
    parentId: fc.constantFrom('a', 'b', undefined),
    groupId: fc.constantFrom('g', undefined),
    chordId: fc.constantFrom('e', undefined),
    retries: fc.constantFrom(0, 1),
  }),
  { maxLength: 5 },
);
const steps = fc.array(workflow, { minLength: 1, maxLength: 12 });
const asGraph = (tasks: readonly Record<string, unknown>[]) =>
  graphOf([
    task('a'),
    ...tasks.map((fields) => ({ ...fields, parentId: fields.parentId ?? 'a' }) as unknown as Task),
  ]);

/** Where in the workflow each task is. Of equal ids, the first task counts. */
function placesIn({ tasks }: TaskTree): string {
  const places = new Map(
    tasks.toReversed().map(({ id, parentId, groupId, chordId }) => [id, [parentId, groupId, chordId]]),
  );
  return JSON.stringify([...places].sort());
}

describe('updates of a graph', () => {
  unsampled(() => {
    it('list what has changed since a cursor, and nothing else', () => {
      const tracker = createGraphTracker();
      const first = tracker.observe('a', 100, graphOf([task('a'), task('b', { parentId: 'a' })]), T0);
      expect(first.updatesSince(first.cursor)).toEqual({ nodes: [], topologyChanged: false });
      const changed = graphOf([task('a'), task('b', { parentId: 'a', state: 'SUCCESS' })]);
      const second = tracker.observe('a', 100, changed, T0 + 1);
      expect(ids(second.updatesSince(first.cursor).nodes)).toEqual(['b']);
      expect(second.updatesSince(first.cursor).topologyChanged).toBe(false);
      expect(second.updatesSince(second.cursor).nodes).toEqual([]);
      expect(ids(second.updatesSince(null).nodes)).toEqual(['a', 'b']);
      expect(second.updatesSince(null).topologyChanged).toBe(false);
    });

    it('keep the cursor while nothing changes', () => {
      const tracker = createGraphTracker();
      const observe = (time: number) => tracker.observe('a', 100, graphOf([task('a')]), time);
      expect(observe(T0).cursor).toBe(observe(T0 + 9_000).cursor);
    });

    it('say when a node or an edge was added, removed or has become another kind', () => {
      const tracker = createGraphTracker();
      const since = (before: readonly Task[], after: readonly Task[]) => {
        const { cursor } = tracker.observe('a', 100, graphOf(before), T0);
        return tracker.observe('a', 100, graphOf(after), T0 + 1).updatesSince(cursor).topologyChanged;
      };
      const a = task('a');
      const b = task('b', { parentId: 'a' });
      expect(since([a], [a, b])).toBe(true);
      expect(since([a, b], [a])).toBe(true);
      expect(since([a, b], [a, task('b', { parentId: 'a', groupId: 'g' })])).toBe(true);
      expect(since([a, b], [a, task('b', { parentId: 'a', kind: 'map' })])).toBe(true);
      expect(since([task('b', { parentId: 'a' })], [a, b])).toBe(true);
      expect(since([a, b], [b, a])).toBe(false);
    });

    it('go on from a generated_at that was issued, whatever changed in its millisecond included', () => {
      const tracker = createGraphTracker();
      tracker.observe('a', 100, graphOf([task('a')]), T0);
      const ended = graphOf([task('a', { state: 'SUCCESS' })]);
      const same = tracker.observe('a', 100, ended, T0);
      expect(ids(same.updatesSince(T0).nodes)).toEqual(['a']);
      const later = tracker.observe('a', 100, ended, T0 + 2_000);
      expect(ids(later.updatesSince(T0).nodes)).toEqual(['a']);
      expect(later.updatesSince(T0 + 2_000)).toEqual({ nodes: [], topologyChanged: false });
    });

    it('list everything for a place that is not known here', () => {
      const tracker = createGraphTracker({ instance: '00000001' });
      const other = createGraphTracker({ instance: '00000002' });
      const graph = graphOf([task('a'), task('b', { parentId: 'a' })]);
      const mine = tracker.observe('a', 100, graph, T0);
      const places = [
        other.observe('a', 100, graph, T0 + 5).cursor,
        tracker.observe('b', 100, graph, T0).cursor,
        tracker.observe('a', 99, graph, T0).cursor,
        laterThan(mine.cursor),
        T0 - 1,
        T0 + 1,
      ];
      for (const since of places) {
        expect(ids(mine.updatesSince(since).nodes)).toEqual(['a', 'b']);
        expect(mine.updatesSince(since).topologyChanged).toBe(true);
      }
    });

    it('never mistake the cursor of a graph that was forgotten in between', () => {
      const tracker = createGraphTracker({ maxGraphs: 1 });
      const observe = (state: string) => tracker.observe('a', 100, graphOf([task('a', { state })]), T0);
      const old = observe('PENDING');
      tracker.observe('x', 100, graphOf([task('a')]), T0);
      observe('STARTED');
      expect(ids(observe('SUCCESS').updatesSince(old.cursor).nodes)).toEqual(['a']);
      expect(observe('SUCCESS').updatesSince(old.cursor).topologyChanged).toBe(true);
    });
  });

  it('give the newer graph when each is applied in turn to an older one', () => {
    fc.assert(
      fc.property(steps, fc.boolean(), (histories, byTime) => {
        const tracker = createGraphTracker();
        let since: string | number | null = null;
        let snapshot: Snapshot | null = null;
        let before: Snapshot | null = null;
        histories.forEach((tasks, step) => {
          const graph = asGraph(tasks);
          const time = T0 + step * 10;
          const observed = tracker.observe('a', 100, graph, time);
          if (snapshot === null) snapshot = read(graph);
          else {
            const { nodes, topologyChanged } = observed.updatesSince(since);
            for (const node of nodes) {
              // On one instance nothing is listed that has not changed.
              expect(before?.nodes.get(node.id)).not.toBe(printOf(node));
              snapshot.nodes.set(node.id, printOf(node));
            }
            if (topologyChanged) snapshot = read(graph);
          }
          expect(sorted(snapshot)).toEqual(sorted(read(graph)));
          before = read(graph);
          since = byTime ? time : observed.cursor;
        });
      }),
      { seed: seedOf(7), numRuns: runs(1_000) },
    );
  });

  it('say at every limit if its topology has changed, never if no task was moved, and list the nodes that it shows and that changed', () => {
    fc.assert(
      fc.property(steps, (histories) => {
        const tracker = createGraphTracker();
        const limits = [1, 2, 3, 4, 5, 6, 7, 100];
        let before = new Map<number, { graph: Snapshot; cursor: string; places: string }>();
        histories.forEach((tasks, step) => {
          const tree = asGraph(tasks);
          const now = new Map<number, { graph: Snapshot; cursor: string; places: string }>();
          for (const limit of limits) {
            const graph = readGraph(buildGraph(tree, 'a', limit));
            const observed = tracker.observe('a', limit, tree, T0 + step);
            now.set(limit, { graph, cursor: observed.cursor, places: placesIn(tree) });
            const earlier = before.get(limit);
            if (earlier === undefined) continue;
            const { nodes, topologyChanged } = observed.updatesSince(earlier.cursor);
            if (placesIn(tree) === earlier.places) expect(topologyChanged).toBe(false);
            if (topologyChanged) continue;
            expect(graph.shape).toEqual(earlier.graph.shape);
            const changed = [...graph.nodes].filter(([id, print]) => earlier.graph.nodes.get(id) !== print);
            expect(ids(nodes).sort()).toEqual(changed.map(([id]) => id).sort());
          }
          before = now;
        });
      }),
      { seed: seedOf(9), numRuns: runs(300) },
    );
  });

  it('lose nothing when two instances answer in turn, one of them lagging behind', () => {
    fc.assert(
      fc.property(steps, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }), (histories, turns) => {
        const trackers = [createGraphTracker(), createGraphTracker()] as const;
        let since: string | null = null;
        let snapshot: Snapshot | null = null;
        histories.forEach((tasks, step) => {
          const lags = turns[step] === true && step > 0;
          const graph = asGraph((lags ? histories[step - 1] : tasks) ?? []);
          const tracker = trackers[turns[step] === true ? 1 : 0];
          const observed = tracker.observe('a', 100, graph, T0 + step);
          if (snapshot === null) snapshot = read(graph);
          const { nodes, topologyChanged } = observed.updatesSince(since);
          for (const node of nodes) snapshot.nodes.set(node.id, printOf(node));
          if (topologyChanged) snapshot = read(graph);
          expect(sorted(snapshot)).toEqual(sorted(read(graph)));
          since = observed.cursor;
        });
      }),
      { seed: seedOf(8), numRuns: runs(1_000) },
    );
  });

  unsampled(() => {
    it('come with cursors that can be told from other texts', () => {
      const { cursor } = createGraphTracker().observe('a', 100, graphOf([task('a')]), T0);
      expect(parseGraphCursor(cursor)).not.toBeNull();
      for (const text of ['', 'x', '2026-11-21T02:00:00.000Z', `${cursor}!`, '0-0-0']) {
        expect(parseGraphCursor(text)).toBeNull();
      }
    });
  });
});
