import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Component, Schedule, Task, TaskDetail, TaskEvent, TaskTree, Worker } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import type { TaskStats } from '../../src/source.ts';
import { relationsOf } from '../graph/graph-kit.ts';
import {
  ANY_VALUES,
  COMPONENT_FIELDS,
  EVENT_FIELDS,
  SCHEDULE_FIELDS,
  TASK_FIELDS,
  WORKER_FIELDS,
} from '../helpers/any-values.ts';

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
  ['item of the feed', EVENT_FIELDS, { id: 'a', type: 't' }, (item) => serializer.event(item as TaskEvent)],
  ['schedule', SCHEDULE_FIELDS, { id: 'a', name: 'n' }, (item) => serializer.schedule(item as Schedule, 's')],
  [
    'component',
    COMPONENT_FIELDS,
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

/** What is wrong with how something is shown; `null`: nothing. */
function faultOf(body: unknown): string | null {
  const json = JSON.stringify(body);
  if (Buffer.from(json).toString() !== json) return `half a character: ${json}`;
  if (!isDeepStrictEqual(JSON.parse(json), body)) return `no JSON: ${json}`;
  return /hunter2|undefined|\[object/.test(json) ? json : null;
}

describe.each(KINDS)('a %s', (kind, fields, good, show) => {
  it('can be shown, or is left out, with a value of any kind in any field', () => {
    const faults = ANY_VALUES.flatMap(([what, value]) =>
      fields.flatMap((field) => {
        const fault = faultOf(show({ ...good, [field]: value }, good));
        return fault === null ? [] : [`${what} in ${field}: ${fault}`];
      }),
    );
    expect(faults).toEqual([]);
  });

  // A node has a place in a graph, whatever its task is.
  const isNode = kind === 'node of a graph';
  it(isNode ? 'is one whatever its task is' : 'is none when it is a value of any kind', () => {
    const shown = ANY_VALUES.filter(([, value]) => (show(value as object, good) === null) === isNode);
    expect(shown.map(([what]) => what)).toEqual([]);
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
