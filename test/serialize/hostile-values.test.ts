import { describe, expect, it } from 'vitest';
import type { Component, Schedule, Task, TaskDetail, TaskEvent, TaskTree, Worker } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import type { TaskStats } from '../../src/source.ts';
import { relationsOf } from '../graph/graph-kit.ts';
import { ANY_VALUES, SCHEDULE_FIELDS, TASK_FIELDS, WORKER_FIELDS } from '../helpers/any-values.ts';

const serializer = createSerializer({ redactor: createRedactor() });
const NOW = new Date(0);

type Show = (item: object, whole: unknown) => unknown;

const KINDS: readonly (readonly [string, readonly string[], object, Show])[] = [
  ['task', TASK_FIELDS, { id: 'a', state: 'S' }, (task) => serializer.taskRow(task as Task, 's')],
  ['task as text', TASK_FIELDS, { id: 'a', state: 'S' }, (task) => serializer.taskRowJson(task as Task, 's')],
  ['detail', TASK_FIELDS, { id: 'a', state: 'S' }, (task) => serializer.taskDetail(task as TaskDetail, 's')],
  [
    'worker',
    WORKER_FIELDS,
    { hostname: 'h', status: 'online' },
    (item) => serializer.worker(item as Worker, 's', NOW),
  ],
  [
    'item of the feed',
    ['id', 'type', 'task', 'taskId', 'state', 'worker', 'timestamp', 'detail'],
    { id: 'a', type: 't' },
    (item) => serializer.event(item as TaskEvent),
  ],
  ['schedule', SCHEDULE_FIELDS, { id: 'a', name: 'n' }, (item) => serializer.schedule(item as Schedule, 's')],
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
  [
    'node of a graph',
    TASK_FIELDS,
    { id: 'a', state: 'S' },
    (task) => serializer.graphNode({ id: 'a', task: task as Task, kind: null, members: null }),
  ],
];

describe.each(KINDS)('a %s', (_kind, fields, good, show) => {
  it.each(ANY_VALUES)('can be shown, or is left out, with %s in any field', (_what, value) => {
    for (const field of fields) {
      const body = show({ ...good, [field]: value }, good);
      const json = JSON.stringify(body);
      expect(Buffer.from(json).toString()).toBe(json);
      expect(JSON.parse(json)).toEqual(body);
      expect(json).not.toContain('hunter2');
      expect(json).not.toMatch(/undefined|\[object/);
    }
  });

  it.each(ANY_VALUES)('is none when it is %s', (_what, value) => {
    if (_kind === 'node of a graph') return;
    expect(show(value as object, good)).toBeNull();
  });
});

it('leaves the prototype of objects as it is', () => {
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as { a?: unknown }).a).toBeUndefined();
});

it('leaves out relations that cannot be read', () => {
  const relations = [
    {},
    { child: 'b' },
    { parent: 'b', child: '', relation: 'link' },
    { child: 'b', relation: 'link', parent: 5 },
  ];
  const tree = { rootId: 'a', tasks: [], relations } as unknown as TaskTree;
  expect(relationsOf(tree).map((one) => serializer.relation(one))).toEqual([
    { parent: null, child: 'b', relation: 'link' },
  ]);
});
