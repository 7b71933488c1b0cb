import { describe, expect, it } from 'vitest';
import { buildGraph } from '../../src/graph/build-graph.ts';
import { findChanges, type GraphChanges } from '../../src/graph/graph-changes.ts';
import type { Task } from '../../src/model.ts';
import { finish } from './graph-kit.ts';

/** Changes of a graph of one task. */
function changesOf(task: object, before: GraphChanges | null): GraphChanges {
  const graph = finish(buildGraph({ rootId: 'a', tasks: [task as Task] }, 'a', 100));
  return finish(findChanges(graph, before, (before?.latest ?? 0) + 1));
}

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable(new Date(0), {});
  revoke();
  return proxy;
}

const UNPRINTABLE: readonly (readonly [string, unknown])[] = [
  ['an object without prototype', Object.create(null)],
  ['a symbol', Symbol('x')],
  ['an array of a symbol', [Symbol('x')]],
  ['an array of an object without prototype', [Object.create(null)]],
];

describe('a change of state is found', () => {
  const fields = [
    'flags',
    'engineState',
    'runtime',
    'waitSeconds',
    'retries',
    'sent',
    'received',
    'eta',
    'started',
    'finished',
    'worker',
  ];
  const rows: [string, string, unknown][] = fields.flatMap((field) =>
    UNPRINTABLE.map(([text, value]): [string, string, unknown] => [field, text, value]),
  );

  it.each([...rows, ['worker', 'a revoked Proxy', revokedProxy()] as const])(
    'where %s is %s',
    (field, _, value) => {
      const first = changesOf({ id: 'a', state: 'STARTED', [field]: value }, null);
      const same = changesOf({ id: 'a', state: 'STARTED', [field]: value }, first);
      expect(same.changedAt).toEqual([1]);
      const ended = changesOf({ id: 'a', state: 'SUCCESS', [field]: value }, same);
      expect(ended.changedAt).toEqual([2]);
    },
  );
});

describe('a change of flags is found', () => {
  it('where the flags also contain what has no text', () => {
    const flags = [Symbol('x'), 'overdue'];
    const first = changesOf({ id: 'a', state: 'PENDING', flags }, null);
    const changed = changesOf({ id: 'a', state: 'PENDING', flags: [...flags, 'never_received'] }, first);
    expect(changed.changedAt).toEqual([2]);
  });
});

describe('a change of each field of an update is found', () => {
  it.each([
    ['sent', new Date(1_000)],
    ['received', new Date(2_000)],
    ['eta', new Date(3_000)],
    ['waitSeconds', 1.5],
    ['started', new Date(4_000)],
    ['finished', new Date(5_000)],
    ['runtime', 0.5],
    ['retries', 1],
    ['worker', 'celery@one'],
    ['engineState', 'delayed'],
  ] as const)('%s', (field, value) => {
    const first = changesOf({ id: 'a', state: 'RETRY' }, null);
    const changed = changesOf({ id: 'a', state: 'RETRY', [field]: value }, first);
    expect(changed.changedAt).toEqual([2]);
  });
});
