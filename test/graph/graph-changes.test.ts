import { describe, expect, it } from 'vitest';
import { createGraphTracker, parseGraphCursor } from '../../src/graph.ts';
import type { Task } from '../../src/model.ts';
import { finish } from './graph-kit.ts';

/** Whether a graph of one task changes with each of these states of it. */
function changesOf(...states: readonly object[]): readonly boolean[] {
  const tracker = createGraphTracker();
  let cursor = '';
  return states.map((fields) => {
    const task = { id: 'a', ...fields } as Task;
    const view = finish(tracker.observe('a', { rootId: 'a', tasks: [task] }));
    const { nodes } = view.changesSince(parseGraphCursor(cursor), 100);
    cursor = view.cursor(100);
    return nodes.length > 0;
  });
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
      const running = { state: 'STARTED', [field]: value };
      expect(changesOf(running, { ...running }, { ...running, state: 'SUCCESS' })).toEqual([
        true,
        false,
        true,
      ]);
    },
  );
});

describe('a change of flags is found', () => {
  it('where the flags also contain what has no text', () => {
    const flags = [Symbol('x'), 'overdue'];
    const changed = { state: 'PENDING', flags: [...flags, 'never_received'] };
    expect(changesOf({ state: 'PENDING', flags }, changed)).toEqual([true, true]);
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
    const retried = { state: 'RETRY' };
    expect(changesOf(retried, { ...retried }, { ...retried, [field]: value })).toEqual([true, false, true]);
  });
});
