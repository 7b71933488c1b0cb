import { describe, expect, it } from 'vitest';
import { layOut } from '../../src/dashboard/graph/layout.ts';
import { hasFailed } from '../../src/dashboard/graph/node-state.ts';
import {
  failedPath,
  type Structure,
  structureOf as structureSteps,
} from '../../src/dashboard/graph/structure.ts';
import { LINE_LENGTH, titleLines, titlesOf } from '../../src/dashboard/graph/titles.ts';
import { finish } from '../graph/graph-kit.ts';
import { edge, node } from './graph-parts.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const structureOf = (...given: Parameters<typeof structureSteps>): Structure =>
  finish(structureSteps(...given));

const wide = {
  nodes: [
    node('root', 'a'),
    node('g', null, { kind: 'group', state: null }),
    node('body', 'z'),
    ...range(20).map((index) => node(`m${index}`, 'm')),
  ],
  edges: range(20).flatMap((index) => [
    edge('root', `m${index}`),
    edge('g', `m${index}`, 'group'),
    edge(`m${index}`, 'body', 'chord'),
  ]),
};

describe('the structure of a drawing', () => {
  it('folds many tasks of one name in one group into one node with one edge each way', () => {
    const { nodes, edges, drawnIdOf } = structureOf(wide.nodes, wide.edges, new Set());
    expect(nodes.map(({ name, kind, members }) => [name, kind, members.length])).toEqual([
      ['a', 'task', 1],
      ['group', 'group', 1],
      ['z', 'task', 1],
      ['m', 'tasks', 20],
    ]);
    const drawnId = drawnIdOf.get('m7') ?? '';
    expect(edges.map(({ source, target }) => [source, target])).toEqual([
      ['root', drawnId],
      ['g', drawnId],
      [drawnId, 'body'],
    ]);
  });

  it('folds the children of a flow, which run before their parent', () => {
    const children = range(20).map((n) => node(`c${n}`, 'child'));
    const edges = children.map(({ id }) => edge(id, 'p', 'flow'));
    const drawn = structureOf([node('p', 'parent'), ...children], edges, new Set());
    expect(drawn.nodes.map(({ name, members }) => [name, members.length])).toEqual([
      ['parent', 1],
      ['child', 20],
    ]);
    expect(drawn.edges).toMatchObject([{ target: 'p', kind: 'flow' }]);
  });

  it('draws each of them when the reader asks for it', () => {
    const drawnId = structureOf(wide.nodes, wide.edges, new Set()).drawnIdOf.get('m7') ?? '';
    expect(structureOf(wide.nodes, wide.edges, new Set([drawnId])).nodes).toHaveLength(23);
  });

  it('folds equal siblings and then equal tasks of one depth where there are more than 300 nodes', () => {
    const pairs = range(400).flatMap((index) => [`a${index}`, `b${index}`]);
    const nodes = [node('root', 'r'), ...pairs.map((id) => node(id, `t${id.slice(1)}`))];
    const edges = pairs.map((id) => edge('root', id));
    expect(structureOf(nodes, edges, new Set()).nodes).toHaveLength(401);
    const deep = range(3_000).map((index) => node(`n${index}`, `t${index % 7}`));
    const senders = range(3_000)
      .slice(1)
      .map((index) => edge(`n${Math.floor((index - 1) / 3)}`, `n${index}`));
    const folded = structureOf(deep, senders, new Set());
    expect(folded.nodes.length).toBeLessThanOrEqual(300);
    expect(folded.nodes.reduce((sum, { members }) => sum + members.length, 0)).toBe(3_000);
    const largest = folded.nodes.toSorted((one, other) => other.members.length - one.members.length)[0];
    if (largest === undefined) throw new Error('nothing is drawn');
    const opened = structureOf(deep, senders, new Set([largest.id]));
    expect(opened.nodes).toHaveLength(folded.nodes.length - 1 + largest.members.length);
  });

  it('keeps what failed and what led to it, also round a cycle', () => {
    const nodes = [node('a', 'a'), node('b', 'b'), node('c', 'c', { state: 'FAILURE' }), node('d', 'd')];
    const kept = failedPath(nodes, [edge('a', 'b'), edge('b', 'a'), edge('b', 'c'), edge('c', 'd')]);
    expect(kept.nodes.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(kept.edges).toHaveLength(3);
  });

  it.each(['chain', 'chord', 'flow'])(
    'keeps the task of a %s that failed itself, not one that never ran because of it',
    (kind) => {
      const nodes = [
        node('first', 'first'),
        node('culprit', 'culprit', { state: 'FAILURE' }),
        node('idle', 'idle', { state: 'FAILURE', flags: ['consequence'] }),
        node('refused', 'refused', { state: 'REJECTED' }),
      ];
      expect(nodes.filter(hasFailed).map(({ id }) => id)).toEqual(['culprit', 'refused']);
      const kept = failedPath(nodes, [edge('first', 'culprit', kind), edge('culprit', 'idle', kind)]);
      expect(kept.nodes.map(({ id }) => id)).toEqual(['first', 'culprit', 'refused']);
      expect(kept.edges).toMatchObject([{ source: 'first', target: 'culprit' }]);
    },
  );
});

describe('the titles of a drawing', () => {
  const titles = (...names: string[]) => {
    const nodes = names.map((name, index) => node(`n${index}`, name));
    return [...titlesOf(structureOf(nodes, [], new Set()).nodes, 25).values()];
  };

  it('are whole names where there is room, else their ends', () => {
    expect(titles('shop.orders.place', 'shop.billing.invoices.render_document')).toEqual([
      'shop.orders.place',
      '…invoices.render_document',
    ]);
    expect(titles('warehouse.billing.invoices.process')).toEqual(['…billing.invoices.process']);
  });

  it('tell names apart that end alike', () => {
    expect(
      titles('warehouse.importer.process', 'warehouse.exporter.process', 'warehouse.imports.v2.process'),
    ).toEqual(['…importer.process', '…exporter.process', '…imports.v2.process']);
    const [one, other] = titles(
      'warehouse.importer.process_all_of_the_documents',
      'warehouse.exporter.process_all_of_the_documents',
    );
    expect([one, other]).toEqual(['importer…of_the_documents', 'exporter…of_the_documents']);
    expect(
      titles(
        'warehouse.importer.process',
        'warehouse.exporter.process',
        'warehouse.deliveries.importer.process',
      ),
    ).toEqual(['warehouse…mporter.process', '…exporter.process', 'deliveries…porter.process']);
  });

  it('have two lines, of which the second has both ends of the last segment', () => {
    const lines = (...names: string[]) => {
      const nodes = names.map((name, index) => node(`n${index}`, name));
      return [...titleLines(structureOf(nodes, [], new Set()).nodes).values()];
    };
    expect(lines('shop.orders.place', 'warehouse.billing.render_and_send_all_documents')).toEqual([
      ['shop.orders.place'],
      ['warehouse.billing.', 'render_and…l_documents'],
    ]);
    const alike = [
      'warehouse.importer.orders.of_today.process',
      'warehouse.exporter.orders.of_today.process',
    ];
    expect(new Set(lines(...alike).map(([first]) => first)).size).toBe(2);
    for (const found of lines('x'.repeat(80), `${'y'.repeat(40)}.z`, 'a.b.'.repeat(30), '.'.repeat(40))) {
      expect(Math.max(...found.map(({ length }) => length))).toBeLessThanOrEqual(LINE_LENGTH);
    }
  });

  it('have room in a node, whatever the names are', () => {
    for (const title of titles('x'.repeat(80), `${'y'.repeat(40)}.z`, 'a.b.'.repeat(30), '.'.repeat(40))) {
      expect(title.length).toBeLessThanOrEqual(25);
    }
  });
});

describe('the layout of a drawing', () => {
  it.each([[3], [60], [81], [10_000]])(
    'gives each of %d nodes a place of its own, also where there are cycles',
    (count) => {
      const nodes = range(count).map((index) => node(`n${index}`, `t${index}`));
      const edges = range(count)
        .slice(1)
        .map((index) => edge(`n${Math.floor(index / 3)}`, `n${index}`));
      edges.push(edge(`n${count - 1}`, 'n0'), edge('n1', 'n1'));
      const { points, width, height } = layOut(structureOf(nodes, edges, new Set()), false);
      expect(new Set([...points.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(count);
      for (const { x, y } of points.values()) expect(x > 0 && y > 0 && x < width && y < height).toBe(true);
    },
  );
});
