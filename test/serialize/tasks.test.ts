import { describe, expect, it } from 'vitest';
import type { Task, TaskDetail } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';

const serializer = createSerializer({ redactor: createRedactor() });
const at = (second: number): Date => new Date(Date.UTC(2026, 10, 21, 2, 0, second));

const full: Task = {
  id: 'a1',
  state: 'SUCCESS',
  name: 'shop.charge',
  worker: 'celery@host',
  queue: 'orders',
  sent: at(0),
  received: at(1),
  started: at(2),
  finished: at(3),
  timestamp: at(3),
  runtime: 0.5,
  runtimeSource: 'derived',
  waitSeconds: 1.5,
  args: '(1, 2)',
  kwargs: "{'a': 1}",
  result: '3',
  exception: null,
  traceback: null,
  retries: 2,
  progress: { current: 3, total: 4, percent: 75, text: null },
  eta: at(4),
  expires: at(5),
  parentId: 'p',
  rootId: 'r',
  groupId: 'g',
  chordId: 'c',
  engineState: 'delayed',
  flags: ['overdue'],
};

describe('a row', () => {
  it('has every field', () => {
    expect(serializer.taskRow(full, 'celery')).toEqual({
      task_id: 'a1',
      name: 'shop.charge',
      state: 'SUCCESS',
      worker: 'celery@host',
      queue: 'orders',
      sent: '2026-11-21T02:00:00.000Z',
      received: '2026-11-21T02:00:01.000Z',
      started: '2026-11-21T02:00:02.000Z',
      finished: '2026-11-21T02:00:03.000Z',
      timestamp: '2026-11-21T02:00:03.000Z',
      done: true,
      runtime: 0.5,
      runtime_source: 'derived',
      wait_seconds: 1.5,
      args: '(1, 2)',
      kwargs: "{'a': 1}",
      result: '3',
      exception: null,
      traceback: null,
      retries: 2,
      progress: full.progress,
      eta: '2026-11-21T02:00:04.000Z',
      expires: '2026-11-21T02:00:05.000Z',
      parent_id: 'p',
      root_id: 'r',
      group_id: 'g',
      chord_id: 'c',
      engine_state: 'delayed',
      source: 'celery',
      flags: ['overdue'],
      cause: null,
      truncated: [],
    });
  });

  it('has the wait that its times show where the source reports none, unless it was retried', () => {
    const waitOf = (given: Partial<Task>) =>
      serializer.taskRow({ id: 'a', state: 'STARTED', sent: at(1), started: at(9), ...given }, 's')
        ?.wait_seconds;
    expect(waitOf({})).toBe(8);
    expect(waitOf({ eta: at(6) })).toBe(3);
    expect(waitOf({ eta: at(0) })).toBe(8);
    expect(waitOf({ sent: null, received: at(5) })).toBe(4);
    expect(waitOf({ retries: 1 })).toBe(null);
    expect(waitOf({ started: null })).toBe(null);
    // The clock of the client is ahead.
    expect(waitOf({ sent: at(12) })).toBe(null);
    expect(waitOf({ retries: 1, waitSeconds: 2 })).toBe(2);
    expect(serializer.taskRow({ id: 'a', state: 'SUCCESS', runtime: 1 }, 's')?.runtime_source).toBe('engine');
  });

  it('says null, and never leaves a field out, where nothing is known', () => {
    const row = serializer.taskRow({ id: 'a', state: 'PENDING' }, 'celery');
    expect(Object.keys(row ?? {})).toEqual(Object.keys(serializer.taskRow(full, 'celery') ?? {}));
    const { task_id, state, done, source, flags, truncated, ...rest } = row ?? {};
    const given = [task_id, state, done, source, flags, truncated];
    expect(given).toEqual(['a', 'PENDING', false, 'celery', [], []]);
    expect(new Set(Object.values(rest))).toEqual(new Set([null]));
  });

  it.each([
    ['SUCCESS', true],
    ['FAILURE', true],
    ['REVOKED', true],
    ['REJECTED', true],
    ['RETRY', false],
    ['PROGRESS', false],
  ])('knows whether a task in %s has ended', (state, done) => {
    expect(serializer.taskRow({ id: 'a', state }, 's')?.done).toBe(done);
  });

  it('takes its own id as a parent for none', () => {
    expect(serializer.taskRow({ ...full, parentId: 'a1' }, 's')?.parent_id).toBeNull();
  });

  it('keeps known flags, each once', () => {
    const flags = ['overdue', 'nonsense', 'overdue', 'worker_lost'] as unknown as Task['flags'] & object;
    expect(serializer.taskRow({ ...full, flags }, 's')?.flags).toEqual(['worker_lost', 'overdue']);
  });

  it('never cuts ids, names, hostnames, queues and states', () => {
    const long = 'x'.repeat(5_000);
    const ids = { parentId: long, rootId: long, groupId: long, chordId: long };
    const row = serializer.taskRow(
      { id: `${long}1`, state: long, name: long, worker: long, queue: long, ...ids },
      's',
    );
    expect(row).toMatchObject({
      task_id: `${long}1`,
      state: long,
      name: long,
      worker: long,
      queue: long,
      parent_id: long,
      root_id: long,
      group_id: long,
      chord_id: long,
      truncated: [],
    });
  });

  it('names the fields that it cut and those that the engine is known to have cut', () => {
    const task: Task = {
      ...full,
      args: 'a'.repeat(300),
      kwargs: "{'a': 1, ...",
      truncated: ['kwargs', 'traceback'],
    };
    const row = serializer.taskRow(task, 's');
    expect(row?.args).toBe(`${'a'.repeat(255)}…`);
    // A traceback that is not there was not cut.
    expect(row?.truncated).toEqual(['args', 'kwargs']);
  });

  it.each<[string, unknown]>([
    ['no id', { state: 'SUCCESS' }],
    ['an empty id', { id: '', state: 'SUCCESS' }],
    ['a number as its id', { id: 7, state: 'SUCCESS' }],
    ['no state', { id: 'a' }],
    ['a state that is no text', { id: 'a', state: {} }],
    ['nothing', {}],
  ])('is none for a task with %s', (_what, task) => {
    expect(serializer.taskRow(task as Task, 's')).toBeNull();
    expect(serializer.taskRowJson(task as Task, 's')).toBeNull();
    expect(serializer.taskDetail(task as Task, 's')).toBeNull();
  });

  it('is the same as text', () => {
    expect(serializer.taskRowJson(full, 's')).toBe(JSON.stringify(serializer.taskRow(full, 's')));
  });

  it('is made once for a frozen task of one source', () => {
    let reads = 0;
    const task = Object.freeze({
      ...full,
      get name() {
        reads += 1;
        return 'shop.charge';
      },
    });
    const rows = ['a', 'a', 'b', 'a'].map((source) => serializer.taskRowJson(task, source));
    expect(reads).toBe(2);
    expect(rows.map((row) => JSON.parse(row ?? '').source)).toEqual(['a', 'a', 'b', 'a']);
  });

  it('is made anew for a task that may have changed', () => {
    const task = { ...full, state: 'STARTED' };
    serializer.taskRowJson(task, 's');
    task.state = 'SUCCESS';
    expect(JSON.parse(serializer.taskRowJson(task, 's') ?? '').state).toBe('SUCCESS');
  });
});

describe('a detail', () => {
  it('adds children and the timeline', () => {
    const detail: TaskDetail = {
      ...full,
      children: ['b', 'c'],
      timeline: [
        { state: 'RETRY', timestamp: at(2), worker: 'celery@host', detail: 'ValueError: no', retries: 1 },
        { state: 'SUCCESS', timestamp: at(3), worker: null, detail: null },
      ],
    };
    expect(serializer.taskDetail(detail, 's')).toEqual({
      ...serializer.taskRow(full, 's'),
      ...{
        children: ['b', 'c'],
        attempts: null,
        options: null,
        log: null,
        trace_id: null,
        time_limits: null,
      },
      timeline: [
        {
          state: 'RETRY',
          timestamp: '2026-11-21T02:00:02.000Z',
          worker: 'celery@host',
          detail: 'ValueError: no',
          retries: 1,
        },
        {
          state: 'SUCCESS',
          timestamp: '2026-11-21T02:00:03.000Z',
          worker: null,
          detail: null,
          retries: null,
        },
      ],
    });
  });

  it('shows 64 Ki of a value', () => {
    const body = serializer.taskDetail({ ...full, result: 'x'.repeat(70_000) }, 's');
    expect(body?.result).toBe(`${'x'.repeat(65_535)}…`);
    expect(body?.truncated).toEqual(['result']);
    expect(serializer.taskDetail({ ...full, result: 'x'.repeat(65_536) }, 's')?.truncated).toEqual([]);
  });

  it('leaves out what of the timeline and the children cannot be read', () => {
    const hostile = {
      ...full,
      children: ['b', 7, null],
      timeline: [null, 'x', {}, { state: 'STARTED', timestamp: 'soon', worker: 5, detail: 6n }],
    } as unknown as TaskDetail;
    expect(serializer.taskDetail(hostile, 's')).toMatchObject({
      children: ['b'],
      timeline: [{ state: 'STARTED', timestamp: null, worker: null, detail: '6' }],
    });
  });
});
