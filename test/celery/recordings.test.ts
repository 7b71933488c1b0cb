/** Recorded traffic of Celery in any order: what is known of each task depends on its messages alone. */
import { describe, expect, it } from 'vitest';
import type { TaskDetail } from '../../src/model.ts';
import { buildGraph } from '../graph/graph-kit.ts';
import { runs, seedOf, unsampled } from '../helpers/cases.ts';
import { RECORDINGS } from '../helpers/celery-recordings.ts';
import { lineageOf, type Placed } from '../helpers/celery-truth.ts';
import { backwards, shuffledTellings, type Telling, tellingsOf, toldDeployment } from './lineage-tellings.ts';

const ORDERS: readonly [string, (tellings: readonly Telling[]) => readonly Telling[]][] = [
  ['the whole twice', (tellings) => [...tellings, ...tellings]],
  ['backwards', backwards],
  ...Array.from({ length: runs(50) }, (_, at): (typeof ORDERS)[number] => [
    `in any order (${seedOf(at + 1)})`,
    (tellings) => shuffledTellings(tellings, seedOf(at + 1)),
  ]),
];

/** What is left when something cannot be read, or was missed. */
const PARTS: readonly [string, (tellings: readonly Telling[]) => readonly Telling[]][] = [
  ['results alone', (tellings) => tellings.filter(({ kind }) => kind === 'result')],
  ['events alone', (tellings) => tellings.filter(({ kind }) => kind === 'event')],
  ['events and queues', (tellings) => tellings.filter(({ kind }) => kind === 'event' || kind === 'queue')],
  ...[1, 2].map((seed): (typeof PARTS)[number] => [
    `a half of it (${seed})`,
    (tellings) => shuffledTellings(tellings, seed).slice(tellings.length / 2),
  ]),
  ...[7].map((seed): (typeof PARTS)[number] => [
    `a tenth of it (${seed})`,
    (tellings) => shuffledTellings(tellings, seed).slice(tellings.length * 0.9),
  ]),
];

/**
 * What no recorded message, result or key need tell. It is then shown as not known, never as something else.
 * - The steps behind a failed one of a chain are never sent. Their failures are stored without a parent,
 *   and the message that names them was taken before the keys were read.
 * - An errback with three arguments is called within the worker, so its id never appears.
 * - A body whose header failed is never sent either. Celery 5.6 would have given it the header's group.
 * - The body that a header's task belongs to, where no message of a queue, group or stored group names it.
 */
const MAY_BE_UNTOLD =
  /^(?:chain-broken chain\[[23]\]: (?:parent|root)|link-error-new errback-inline: root|chord-broken chord\.body: group|.*: chord)$/;

type Known = ReadonlyMap<string, TaskDetail | null>;

/** What is known of every task that was told like this. */
async function knownAfter(tellings: readonly Telling[], places: readonly Placed[]): Promise<Known> {
  const { sources, task } = await toldDeployment(tellings);
  const known = new Map<string, TaskDetail | null>();
  for (const { id } of places) {
    const found = await task(id);
    // Children are a set.
    known.set(id, found && { ...found, children: found.children?.toSorted() ?? [] });
  }
  await sources.close();
  return known;
}

/** Where tasks are shown in another place than theirs, and where in none. */
function misplaced(places: readonly Placed[], known: Known, fields: readonly Field[]) {
  const wrong: string[] = [];
  const untold: string[] = [];
  for (const place of places) {
    const task = known.get(place.id);
    const told = {
      ...{ parent: task?.parentId ?? null, root: task?.rootId ?? null },
      ...{ group: task?.groupId ?? null, chord: task?.chordId ?? null },
    };
    for (const field of fields) {
      const label = `${place.label}: ${field}`;
      if (told[field] === place[field]) continue;
      if (told[field] === null) untold.push(label);
      else wrong.push(`${label} of ${place.id} is ${told[field]}, should be ${place[field]}`);
    }
  }
  return { wrong, untold };
}

function expectOldestFirst(timeline: NonNullable<TaskDetail['timeline']>): void {
  const times = timeline.flatMap(({ timestamp }) => timestamp?.getTime() ?? []);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  const states = timeline.map(({ state }) => state);
  const end = states.findIndex((state) => state === 'SUCCESS' || state === 'FAILURE');
  expect(end === -1 ? [] : states.slice(end + 1)).toEqual([]);
}

type Field = 'parent' | 'root' | 'group' | 'chord';

/** The tasks that differ, with their fields. */
function differences(known: Known, expected: Known): string[] {
  return [...expected].flatMap(([id, task]) => {
    const other = known.get(id) ?? null;
    const keys = Object.keys(task ?? other ?? {}) as (keyof TaskDetail)[];
    return (
      keys
        // The place in a queue is the order in which the queue is told.
        .filter((key) => key !== 'ahead' && JSON.stringify(task?.[key]) !== JSON.stringify(other?.[key]))
        .map((key) => `${id}: ${key} is ${JSON.stringify(other?.[key])}, was ${JSON.stringify(task?.[key])}`)
    );
  });
}

describe.each(RECORDINGS)('the tasks of recorded run $name', (recording) => {
  const tellings = tellingsOf(recording);
  const places = lineageOf(recording);

  it('are the same, and where they belong, in every order of arrival', { timeout: 600_000 }, async () => {
    const expected = await knownAfter(tellings, places);
    for (const task of expected.values()) expectOldestFirst(task?.timeline ?? []);
    for (const [name, order] of [['as recorded', (all: typeof tellings) => all] as const, ...ORDERS]) {
      const known = await knownAfter(order(tellings), places);
      const { wrong, untold } = misplaced(places, known, ['parent', 'root', 'group', 'chord']);
      const unknown = untold.filter((label) => !MAY_BE_UNTOLD.test(label));
      expect({ name, wrong, unknown, differences: differences(known, expected) }).toEqual({
        ...{ name, wrong: [], unknown: [], differences: [] },
      });
    }
  });

  // A parent is told by the task's own messages, and that of a task that was replaced changes with them.
  unsampled(() => {
    it('are in no wrong group or chord by a part of it', { timeout: 600_000 }, async () => {
      for (const [name, part] of PARTS) {
        const known = await knownAfter(part(tellings), places);
        const { wrong } = misplaced(places, known, ['group', 'chord']);
        expect({ name, wrong }).toEqual({ name, wrong: [] });
      }
    });
  });

  unsampled(() => {
    it('have the graphs that the contract derives from what the client knows', async () => {
      const { task, tree, sources } = await toldDeployment(tellings);
      const untold = new Set<string>();
      for (const { id, label } of places) {
        if (/^chain-broken/.test(label) && (await task(id))?.parentId == null) untold.add(id);
      }
      // A header's task leads to its body by what names the body, or by the body's own parent.
      const named = places.map(async (place) => {
        const isNamed = (await task(place.id))?.chordId != null;
        return isNamed ? place : { ...place, chord: null };
      });
      const edges = edgesOf(await Promise.all(named), untold);
      const wrong: unknown[] = [];
      let compared = 0;
      for (const { id, label } of places) {
        const workflow = await tree(id);
        // What was never sent, and has no result, is not known.
        if (workflow === null) continue;
        compared += 1;
        const graph = buildGraph(workflow, id, 20_000);
        const nodes = graph.nodes.map((node) => node.id).sort();
        const found = { nodes, edges: graph.edges.map(nameOf).sort() };
        const expected = workflowOf(id, edges);
        if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push({ label, found, expected });
        for (const { kind, members, task: own } of graph.nodes.filter((node) => node.kind === 'group')) {
          const most = edges.filter(
            ({ source, kind: edge }) => edge === 'group' && nodes.includes(source),
          ).length;
          if (own !== null || !((members?.total ?? 0) <= most)) wrong.push({ label, kind, members });
        }
      }
      expect(wrong).toEqual([]);
      expect(compared).toBeGreaterThan(places.length - 5);
      await sources.close();
    });
  });
});

interface Edge {
  readonly source: string;
  readonly target: string;
  readonly kind: 'group' | 'chord' | 'child';
}

/** The contract's edges, straight from what the submitting client knows. */
function edgesOf(places: readonly Placed[], untold: ReadonlySet<string>): Edge[] {
  const edges: Edge[] = [];
  const bodies = new Map<string, string>();
  for (const { group, chord } of places) if (group !== null && chord !== null) bodies.set(group, chord);
  for (const { id, parent, group, chord } of places) {
    // Celery 5.6 gives the body the group of its header, and it is no member for that.
    if (group !== null && bodies.get(group) !== id) edges.push({ source: group, target: id, kind: 'group' });
    if (chord !== null) edges.push({ source: id, target: chord, kind: 'chord' });
    const isBody = parent !== null && places.some((other) => other.id === parent && other.chord === id);
    if (parent !== null && parent !== id && !isBody && !untold.has(id)) {
      edges.push({ source: parent, target: id, kind: 'child' });
    }
  }
  return edges;
}

/** Everything that hangs together with a task, in either direction. */
function workflowOf(id: string, edges: readonly Edge[]) {
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
