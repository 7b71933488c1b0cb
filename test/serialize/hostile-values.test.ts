import { describe, expect, it } from 'vitest';
import type { Graph } from '../../src/graph.ts';
import type { Component, Schedule, Task, TaskDetail, TaskEvent, TaskTree, Worker } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import type { TaskStats } from '../../src/source.ts';
import { NO_SHAPE } from '../graph/no-shape.ts';

const serializer = createSerializer({ redactor: createRedactor() });
const NOW = new Date(0);

const circle: unknown[] = [];
circle.push(circle);
const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();
const throwing = new Proxy(
  {},
  {
    get() {
      throw new Error('no');
    },
    ownKeys() {
      throw new Error('no');
    },
    getPrototypeOf() {
      throw new Error('no');
    },
  },
);

/** What a source written in a hurry, or in bad faith, may put anywhere. */
const VALUES: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['true', true],
  ['false', false],
  ['0', 0],
  ['-0', -0],
  ['-1', -1],
  ['1.5', 1.5],
  ['1e308', 1e308],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['2 ** 53', 2 ** 53],
  ['a bigint', 10n],
  ['a huge bigint', 1n << 1_000_000n],
  ['a symbol', Symbol('x')],
  ['a function', () => 1],
  ['a class', class {}],
  ['an empty text', ''],
  ['a text', 'x'],
  ['a text of 5 MB', 'x'.repeat(5_000_000)],
  ['NUL', '\0'],
  ['line breaks and escapes', '\r\n\u2028\u001b[31m'],
  ['half a character', '\ud800'],
  ['__proto__', '__proto__'],
  ['an empty object', {}],
  ['an object without prototype', Object.create(null)],
  ['members named as those of objects', JSON.parse('{"__proto__":{"a":1},"toString":1,"length":-1}')],
  ['an array', [1, 'a', null]],
  ['an array with holes', new Array(1_000_000)],
  ['a nested array', [[[[[[[[[[1]]]]]]]]]]],
  ['a circle', circle],
  ['a date', new Date(1)],
  ['an invalid date', new Date(Number.NaN)],
  ['a date far off', new Date(8.64e15)],
  ['a buffer', Buffer.from('abc')],
  ['a typed array', new Uint16Array(4)],
  ['a map', new Map<unknown, unknown>([[{}, circle]])],
  ['a set', new Set([Symbol('x'), 1n])],
  ['an error', new Error('password=hunter2')],
  ['a regular expression', /x/g],
  ['a promise', Promise.resolve(1)],
  ['a weak map', new WeakMap()],
  ['a boxed text', Object('x')],
  ['a text that is not primitive', { toString: () => 'x', valueOf: () => 1 }],
  ['a throwing proxy', throwing],
  ['a revoked proxy', revoked],
  ['what claims to be an array', { length: 3, 0: 'a', map: 1 }],
];

const TASK = [
  'id',
  'state',
  'name',
  'worker',
  'queue',
  'sent',
  'received',
  'started',
  'finished',
  'timestamp',
];
TASK.push('runtime', 'args', 'kwargs', 'result', 'exception', 'traceback', 'retries', 'eta', 'expires');
TASK.push('parentId', 'rootId', 'groupId', 'chordId', 'flags', 'truncated', 'children', 'timeline', 'stamps');

const WORKER = ['hostname', 'status', 'lastHeartbeat', 'pid', 'pool', 'poolSize', 'concurrency', 'active'];
WORKER.push('processed', 'registeredTasks', 'queues', 'software', 'loadAverage', 'uptimeSeconds');

const SCHEDULE = ['id', 'app', 'name', 'task', 'schedule', 'enabled', 'args', 'kwargs', 'queue', 'timezone'];
SCHEDULE.push('lastRunAt', 'nextRunAt', 'totalRunCount');

type Show = (item: object, whole: unknown) => unknown;

const KINDS: readonly (readonly [string, readonly string[], object, Show])[] = [
  ['task', TASK, { id: 'a', state: 'S' }, (task) => serializer.taskRow(task as Task, 's')],
  ['task as text', TASK, { id: 'a', state: 'S' }, (task) => serializer.taskRowJson(task as Task, 's')],
  ['detail', TASK, { id: 'a', state: 'S' }, (task) => serializer.taskDetail(task as TaskDetail, 's')],
  [
    'worker',
    WORKER,
    { hostname: 'h', status: 'online' },
    (item) => serializer.worker(item as Worker, 's', NOW),
  ],
  [
    'item of the feed',
    ['id', 'type', 'task', 'taskId', 'state', 'worker', 'timestamp', 'detail'],
    { id: 'a', type: 't' },
    (item) => serializer.event(item as TaskEvent),
  ],
  ['schedule', SCHEDULE, { id: 'a', name: 'n' }, (item) => serializer.schedule(item as Schedule, 's')],
  [
    'component',
    ['key', 'name', 'enabled', 'status', 'pid', 'url', 'config', 'queues'],
    { key: 'k', name: 'n', enabled: true, status: 'up' },
    (item) => serializer.component(item as Component),
  ],
  [
    'figures',
    ['stepSeconds', 'series', 'states', 'names', 'workers', 'queues'],
    { stepSeconds: 60 },
    (item) => serializer.stats(item as TaskStats),
  ],
  ['node of a graph', TASK, { id: 'a', state: 'S' }, (task) => serializer.graph(graphOf(task as Task))],
];

function graphOf(task: Task): Graph {
  const counts = { total: 0, pending: 0, running: 0, retry: 0, success: 0, failure: 0, revoked: 0 };
  const node = { id: 'a', task, kind: null, members: null };
  return {
    rootId: 'a',
    nodes: [node],
    edges: [],
    counts,
    isTruncated: false,
    isComplete: false,
    shape: NO_SHAPE,
  };
}

describe.each(KINDS)('a %s', (_kind, fields, good, show) => {
  it.each(VALUES)('can be shown, or is left out, with %s in any field', (_what, value) => {
    for (const field of fields) {
      const body = show({ ...good, [field]: value }, good);
      const json = JSON.stringify(body);
      expect(Buffer.from(json).toString()).toBe(json);
      expect(JSON.parse(json)).toEqual(body);
      expect(json).not.toContain('hunter2');
      expect(json).not.toMatch(/undefined|\[object/);
    }
  });

  it.each(VALUES)('is none when it is %s', (_what, value) => {
    if (_kind === 'node of a graph') return;
    expect(show(value as object, good)).toBeNull();
  });
});

it('leaves the prototype of objects as it is', () => {
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as { a?: unknown }).a).toBeUndefined();
});

it('leaves out relations that cannot be read', () => {
  const relations = [{}, { child: 'b' }, { child: 'b', relation: 'link', parent: 5 }];
  const tree = { rootId: 'a', tasks: [], relations } as unknown as TaskTree;
  expect(serializer.relations(tree)).toEqual([{ parent: null, child: 'b', relation: 'link' }]);
});
