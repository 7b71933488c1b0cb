import { describe, expect, it } from 'vitest';
import type { GraphEdge, GraphNode } from '../../src/graph.ts';
import type { Task } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';

const serializer = createSerializer({ redactor: createRedactor() });
const counts = { total: 1, pending: 0, running: 0, retry: 0, success: 1, failure: 0, revoked: 0 };

const task: Task = {
  id: 'a',
  state: 'SUCCESS',
  engineState: 'completed',
  name: 'shop.charge',
  worker: 'celery@host',
  queue: 'orders',
  sent: new Date(100),
  received: new Date(200),
  eta: new Date(300),
  started: new Date(1_000),
  finished: new Date(3_500),
  runtime: 0.29,
  waitSeconds: 0.7,
  args: '(1,)',
  kwargs: "{'token': 'abc'}",
  result: 'x'.repeat(300),
  retries: 1,
  parentId: 'a',
  rootId: 'r',
  stamps: { visitor: ['x'] },
  flags: ['overdue'],
};
const real: GraphNode = { id: 'a', task, kind: null, members: null };
const group: GraphNode = { id: 'g', task: null, kind: 'group', members: counts };
const edge: GraphEdge = { id: 'g->a:group', source: 'g', target: 'a', kind: 'group' };

describe('a graph', () => {
  it('has every field of its nodes, texts redacted and cut', () => {
    expect({
      counts: serializer.counts(counts),
      nodes: [real, group].map((node) => serializer.graphNode(node)),
      edges: [serializer.graphEdge(edge)],
    }).toEqual({
      counts,
      nodes: [
        {
          id: 'a',
          task_name: 'shop.charge',
          state: 'SUCCESS',
          engine_state: 'completed',
          flags: ['overdue'],
          sent_at: '1970-01-01T00:00:00.100Z',
          received_at: '1970-01-01T00:00:00.200Z',
          eta: '1970-01-01T00:00:00.300Z',
          started_at: '1970-01-01T00:00:01.000Z',
          finished_at: '1970-01-01T00:00:03.500Z',
          duration_ms: 290,
          wait_ms: 700,
          retries: 1,
          queue: 'orders',
          worker: 'celery@host',
          args_preview: '(1,)',
          kwargs_preview: "{'token': '***'}",
          result_preview: `${'x'.repeat(255)}…`,
          traceback_preview: null,
          stamps_preview: '{"visitor":["x"]}',
          parent_id: null,
          root_id: 'r',
          kind: null,
          members: null,
        },
        {
          id: 'g',
          task_name: null,
          state: null,
          engine_state: null,
          flags: [],
          sent_at: null,
          received_at: null,
          eta: null,
          started_at: null,
          finished_at: null,
          duration_ms: null,
          wait_ms: null,
          retries: null,
          queue: null,
          worker: null,
          args_preview: null,
          kwargs_preview: null,
          result_preview: null,
          traceback_preview: null,
          stamps_preview: null,
          parent_id: null,
          root_id: null,
          kind: 'group',
          members: counts,
        },
      ],
      edges: [edge],
    });
  });

  it.each<[string, Partial<Task>, number | null]>([
    ["the engine's own run time", { runtime: 1.2345678 }, 1_234.568],
    ['the time from start to end without one', { runtime: null }, 2_500],
    ['null when clocks make it negative', { runtime: null, finished: new Date(0) }, null],
    ['null while it runs', { runtime: null, finished: null }, null],
    ['null for what is no time', { runtime: Number.NaN, started: new Date(Number.NaN) }, null],
  ])('takes for the duration %s', (_what, change, duration) => {
    const node = { ...real, task: { ...task, ...change } };
    expect(serializer.graphNode(node).duration_ms).toBe(duration);
  });

  it.each<[string, Partial<Task>, number | null]>([
    ['as the source reports it, in milliseconds', { waitSeconds: 0.29 }, 290],
    ['null where the source does not know it', { waitSeconds: null, retries: 0 }, null],
    ['from its eta on where the source says nothing', { waitSeconds: undefined, retries: 0 }, 700],
    ['null after a retry of which the source says nothing', { waitSeconds: undefined }, null],
    ['null for what is no number', { waitSeconds: Number.NaN }, null],
  ] as [string, Partial<Task>, number | null][])('shows the wait %s', (_what, change, wait) => {
    const node = { ...real, task: { ...task, ...change } };
    expect(serializer.graphNode(node).wait_ms).toBe(wait);
  });

  it('tells of updates what may have changed', () => {
    expect(serializer.nodeUpdate(real)).toEqual({
      id: 'a',
      state: 'SUCCESS',
      engine_state: 'completed',
      flags: ['overdue'],
      duration_ms: 290,
      wait_ms: 700,
      retries: 1,
      sent_at: '1970-01-01T00:00:00.100Z',
      received_at: '1970-01-01T00:00:00.200Z',
      eta: '1970-01-01T00:00:00.300Z',
      started_at: '1970-01-01T00:00:01.000Z',
      finished_at: '1970-01-01T00:00:03.500Z',
      worker: 'celery@host',
      members: null,
    });
  });
});

describe('the preview of a traceback', () => {
  const preview = (traceback: unknown): string | null | undefined =>
    serializer.graphNode({ ...real, task: { ...task, traceback } }).traceback_preview;
  const frame = '  File "/app/tasks.py", line 3, in charge\n    raise ValueError("no")\n';

  it.each<[string, unknown, string | null]>([
    [
      "the last line of Python's",
      `Traceback (most recent call last):\n${frame}ValueError: no\n`,
      'ValueError: no',
    ],
    [
      'the last exception of a chain',
      `KeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n${frame}ValueError: no`,
      'ValueError: no',
    ],
    [
      "the first line of JavaScript's",
      'TypeError: no\n    at charge (/app/a.js:1:2)\n    at main (/app/b.js:3:4)',
      'TypeError: no',
    ],
    ['an error', new RangeError('no'), 'RangeError: no'],
    ['one line', 'ValueError: no', 'ValueError: no'],
    ['the exception behind a long traceback', `${frame.repeat(10_000)}ValueError: no`, 'ValueError: no'],
    [
      'the beginning of an endless line',
      `ValueError: ${'x'.repeat(100_000)}`,
      `ValueError: ${'x'.repeat(243)}…`,
    ],
    ['nothing for no traceback', null, null],
    ['nothing for an empty one', ' \n\n', null],
  ])('is %s', (_what, traceback, line) => {
    expect(preview(traceback)).toBe(line);
  });

  it('has no secrets, also of those that begin in a line before', () => {
    expect(preview(`${frame}ValueError: token=abc`)).toBe('ValueError: token=***');
    expect(
      preview(`${frame}ValueError: bad key -----BEGIN PRIVATE KEY-----\nMIIhunter2\nhunter2`),
    ).not.toContain('hunter2');
  });
});

it('tells relations as they are', () => {
  const relations = [
    { parent: null, child: 'b', relation: 'link' },
    { parent: 'b', child: 'c', relation: 'my own' },
  ];
  expect(relations.map((one) => serializer.relation(one))).toEqual(relations);
});
