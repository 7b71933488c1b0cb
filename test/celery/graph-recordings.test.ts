import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { History } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { createLineage } from '../../src/sources/celery/lineage/lineage.ts';
import { buildGraph } from '../graph/graph-kit.ts';
import { context } from '../helpers/celery-events.ts';
import { RECORDINGS } from '../helpers/celery-recordings.ts';
import { lineageOf, type Placed } from '../helpers/celery-truth.ts';
import { tellingsOf } from './lineage-tellings.ts';

/** The recordings are older than any retention by the time somebody runs this. */
const retention = { maxAgeMs: 100 * 365 * 86_400_000 };

/** The steps behind a failed one of a chain: nothing recorded tells what is before them. */
const UNTOLD = /^chain-broken chain\[[23]\]/;

interface Expected {
  readonly nodes: readonly string[];
  /** `source->target`, of membership in a group `source->target:group`; header to body `:chord`. */
  readonly edges: readonly string[];
}

/** The contract's edges, straight from what the submitting client knows. */
function edgesOf(places: readonly Placed[]): { source: string; target: string; kind: string }[] {
  const edges: { source: string; target: string; kind: string }[] = [];
  const bodies = new Map<string, string>();
  for (const { group, chord } of places) if (group !== null && chord !== null) bodies.set(group, chord);
  for (const { id, parent, group, chord, label } of places) {
    // Celery 5.6 gives the body the group of its header, and it is no member for that.
    if (group !== null && bodies.get(group) !== id) edges.push({ source: group, target: id, kind: 'group' });
    if (chord !== null) edges.push({ source: id, target: chord, kind: 'chord' });
    const isBody = parent !== null && places.some((other) => other.id === parent && other.chord === id);
    if (parent !== null && parent !== id && !isBody && !UNTOLD.test(label)) {
      edges.push({ source: parent, target: id, kind: 'child' });
    }
  }
  return edges;
}

/** Everything that hangs together with a task, in either direction. */
function workflowOf(id: string, edges: ReturnType<typeof edgesOf>): Expected {
  const nodes = new Set([id]);
  for (let size = 0; size !== nodes.size; ) {
    size = nodes.size;
    for (const { source, target } of edges) {
      if (nodes.has(source)) nodes.add(target);
      if (nodes.has(target)) nodes.add(source);
    }
  }
  const own = edges.filter(({ source }) => nodes.has(source)).map(nameOf);
  return { nodes: [...nodes].sort(), edges: own.sort() };
}

/** A more telling kind than `child` may be known. */
function nameOf({ source, target, kind }: { source: string; target: string; kind: string }): string {
  return `${source}->${target}${kind === 'group' || kind === 'chord' ? `:${kind}` : ''}`;
}

describe.each(RECORDINGS)('the graphs of run $name', (recording) => {
  const places = lineageOf(recording);
  const edges = edgesOf(places);
  let history: History;

  beforeAll(() => {
    history = createMemoryHistory(retention);
    const lineage = createLineage(history);
    for (const telling of tellingsOf(recording)) telling.tell(history, lineage);
  });

  afterAll(() => history.close());

  it('have the nodes and edges that the contract derives from what the client knows', async () => {
    const wrong: unknown[] = [];
    let compared = 0;
    for (const { id, label } of places) {
      const tree = await history.reader.getTaskTree(id, context);
      // What was never sent, and has no result, is not known.
      if (tree === null) continue;
      compared += 1;
      const graph = buildGraph(tree, id, 20_000);
      const found = {
        nodes: graph.nodes.map((node) => node.id).sort(),
        edges: graph.edges.map(nameOf).sort(),
      };
      const expected = workflowOf(id, edges);
      if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push({ label, found, expected });
    }
    expect(wrong).toEqual([]);
    expect(compared).toBeGreaterThan(places.length - 5);
  });

  it('count every member of a group once', async () => {
    const groups = new Map<string, string[]>();
    const bodies = new Set(places.map(({ chord }) => chord));
    for (const { id, group } of places) {
      if (group !== null && !bodies.has(id)) groups.set(group, [...(groups.get(group) ?? []), id]);
    }
    for (const [group, members] of groups) {
      const tree = await history.reader.getTaskTree(members[0] ?? '', context);
      if (tree === null) continue;
      const node = buildGraph(tree, members[0] ?? '', 20_000).nodes.find(({ id }) => id === group);
      expect(node).toMatchObject({ kind: 'group', task: null });
      expect(node?.members?.total).toBeLessThanOrEqual(members.length);
    }
  });
});
