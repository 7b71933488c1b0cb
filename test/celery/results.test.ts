/** What stored results tell of tasks, as the answers of the source show it. */
import { describe, expect, it } from 'vitest';
import type { TaskDetail } from '../../src/model.ts';
import { relationsOf } from '../graph/graph-kit.ts';
import { context } from '../helpers/celery-events.ts';
import { collectGarbage } from '../helpers/collect-garbage.ts';
import { queryOf } from '../helpers/task-query.ts';
import { type ArrayDeployment, LONG, metaOf, openArrayDeployment } from './array-deployment.ts';

const DONE = new Date(Date.UTC(2026, 10, 21, 2, 55, 13, 177));

function open(more: object = {}): ArrayDeployment {
  return openArrayDeployment({ retention: { ...LONG, ...more }, control: false });
}

/** The task of each published meta: what to change in it, or its text. */
async function tasksOf(...metas: readonly (object | string)[]): Promise<(TaskDetail | null)[]> {
  const { publish, task } = open();
  for (const [at, meta] of metas.entries()) publish(`a${at}`, meta);
  return await Promise.all(metas.map((_, at) => task(`a${at}`)));
}

async function taskOf(meta: object | string): Promise<TaskDetail | null> {
  return (await tasksOf(meta))[0] ?? null;
}

/** A text with a value that JSON does not know in place of `"@"`. */
const withValue = (meta: object, value: string): string => metaOf('a0', meta).replace('"@"', value);

describe('a stored result', () => {
  it('tells state, time and value', async () => {
    expect(await taskOf({})).toMatchObject({
      ...{ state: 'SUCCESS', result: '4', finished: DONE, timestamp: DONE, started: null, worker: null },
      ...{ name: null, args: null, retries: null, parentId: null, rootId: 'a0', stamps: null },
      timeline: [{ state: 'SUCCESS', timestamp: DONE, detail: null }],
    });
  });

  it('reads a time without an offset as UTC, and one with an offset as it says', async () => {
    const dates = ['2026-11-21T02:55:13.177793+00:00', '2026-11-21T04:55:13.177793+02:00', null];
    const tasks = await tasksOf(...dates.map((date_done) => ({ date_done })));
    const shown = tasks.map((task) => task?.timeline?.[0]?.timestamp?.getTime() ?? null);
    expect(shown.slice(0, 2)).toEqual([DONE.getTime(), DONE.getTime()]);
    expect(shown[2]).not.toBe(DONE.getTime());
  });

  it('tells more with result_extended, and what is null tells nothing', async () => {
    const extended = {
      ...{ name: 'lab.add', args: [2, 'x'], kwargs: { word: 'p', big: '@' }, worker: 'w1@alpha', retries: 2 },
      ...{ queue: 'celery', parent_id: 'p', group_id: 'g' },
    };
    const unknown = Object.fromEntries(Object.keys(extended).map((key) => [key, null]));
    const numbers = withValue(extended, '36893488147419103232');
    const [full, none, plain] = await tasksOf(numbers, unknown, {});
    expect(full).toMatchObject({
      ...{ name: 'lab.add', args: "(2, 'x')", kwargs: "{'word': 'p', 'big': 36893488147419103232}" },
      ...{ worker: 'w1@alpha', retries: 2, queue: 'celery', parentId: 'p', groupId: 'g' },
    });
    expect({ ...none, id: '', rootId: '' }).toEqual({ ...plain, id: '', rootId: '' });
  });

  it('says that a task which has run has no parent, and nothing of one that has not', async () => {
    const failure = { status: 'FAILURE', result: { exc_type: 'ValueError', exc_message: ['boom'] } };
    const tasks = await tasksOf(
      { ...failure, worker: 'w1@alpha' },
      { ...failure, worker: null },
      { ...failure, parent_id: 'b' },
    );
    expect(tasks.map((task) => [task?.rootId ?? null, task?.parentId ?? null])).toEqual([
      ['a0', null],
      [null, null],
      [null, 'b'],
    ]);
  });

  it('of a started task names its worker', async () => {
    const started = { status: 'STARTED', result: { pid: 30304, hostname: 'w1@alpha' }, date_done: null };
    expect(await taskOf(started)).toMatchObject({ state: 'STARTED', worker: 'w1@alpha', result: null });
  });

  it('shows numbers that JSON does not know', async () => {
    const task = await taskOf(withValue({ result: '@' }, '[NaN, -Infinity, 1.0, 1e+300]'));
    expect(task?.result).toBe('[nan, -inf, 1.0, 1e+300]');
  });

  it('of a failure has the exception', async () => {
    const rows: [result: unknown, exception: string | null][] = [
      [{ exc_type: 'ValueError', exc_message: ['boom'], exc_module: 'builtins' }, "ValueError('boom')"],
      [{ exc_type: 'LabError', exc_message: [42, { why: 'x' }] }, "LabError(42, {'why': 'x'})"],
      [{ exc_type: 'KeyError', exc_message: [] }, 'KeyError()'],
      [{ exc_type: 'OSError', exc_message: 'text' }, "OSError('text')"],
      [{ exc_type: 'OSError' }, 'OSError()'],
      [{ custom: 1 }, "{'custom': 1}"],
      ['said so', 'said so'],
      [[1], '[1]'],
      [null, null],
    ];
    const failed = rows.map(([result], at) => ({
      status: 'FAILURE',
      result,
      traceback: `Traceback ${at} …`,
    }));
    expect(await tasksOf(...failed)).toMatchObject(
      rows.map(([, exception], at) => ({
        ...{ state: 'FAILURE', finished: DONE, traceback: `Traceback ${at} …`, exception, result: null },
      })),
    );
  });

  it('of a retry has the exception and no time', async () => {
    const result = { exc_type: 'OSError', exc_message: ['never'] };
    const retry = { status: 'RETRY', result, date_done: null, retries: 0 };
    expect(await taskOf(retry)).toMatchObject({
      ...{ state: 'RETRY', retries: 0, exception: "OSError('never')", finished: null },
    });
  });

  it('of a state that a task invents has its report as detail', async () => {
    const progress = { status: 'PROGRESS', result: { current: 1, total: 3 }, date_done: null };
    const long = { current: 1, total: 3, log: 'x'.repeat(100_000) };
    const [known, odd, vast, named] = await tasksOf(
      progress,
      metaOf('a1', { ...progress, result: { current: '@' } }).replace('"@"', 'NaN'),
      { ...progress, result: long },
      { ...progress, status: '__proto__' },
    );
    expect(known).toMatchObject({
      ...{ state: 'PROGRESS', progress: { current: 1, total: 3, percent: 33.33, text: null } },
      timeline: [{ detail: "{'current': 1, 'total': 3}" }],
    });
    expect([odd?.progress, vast?.progress, named?.state]).toEqual([null, null, '__proto__']);
  });

  it('does not take a stamp for what Celery wrote', async () => {
    const stamps = { name: 'acme', worker: 'x', retries: 3, tenant: ['acme', null] };
    const stamped = { stamped_headers: Object.keys(stamps), ...stamps };
    const [task, unreadable] = await tasksOf(stamped, { stamped_headers: ['status'], status: 'acme' });
    expect(task).toMatchObject({ stamps, name: null, worker: null, retries: null, state: 'SUCCESS' });
    expect(unreadable).toBeNull();
  });

  it('keeps small stamps alone, whatever they are called', async () => {
    const hostile = JSON.parse('{"__proto__": 1, "constructor": "x", "long": ""}') as object;
    const names = ['__proto__', 'constructor', 'long', 'absent', 7, null];
    const tasks = await tasksOf(
      { stamped_headers: names, ...hostile, long: 'x'.repeat(10_000) },
      metaOf('a1', { stamped_headers: ['ratio'], ratio: '@' }).replace('"@"', 'NaN'),
      { stamped_headers: null },
      { stamped_headers: 'tenant', tenant: 1 },
    );
    expect(tasks.map((task) => JSON.stringify(task?.stamps))).toEqual([
      '{"__proto__":1,"constructor":"x"}',
      '{"ratio":null}',
      'null',
      'null',
    ]);
  });

  it('without an id is of the task that the channel names', async () => {
    expect((await taskOf({ task_id: undefined }))?.id).toBe('a0');
  });

  it('keeps nothing of a long message but what it tells', async () => {
    const padding = 'x'.repeat(1_000_000);
    const heap = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const { publish, task } = open({ maxValueLength: 100 });
    publish('first', {});
    await task('first');
    const before = heap();
    for (let at = 0; at < 60; at += 1) {
      const failed = { status: 'FAILURE', result: { exc_type: 'E', exc_message: [`no such item ${at}`] } };
      publish(`8090b94c-6a1e-4d4e-${at}`, {
        parent_id: `p090b94c-6a1e-4d4e-${at}`,
        name: `shop.tasks.number_${at}`,
        args: [`argument number ${at}`],
        kwargs: { argument: `number ${at}` },
        traceback: `Traceback of number ${at}`,
        stamped_headers: ['padding', 'tenant'],
        tenant: `the tenant ${at}`,
        padding,
        ...(at % 2 === 0 ? failed : {}),
      });
    }
    expect(heap() - before).toBeLessThan(10_000_000);
    expect((await task('8090b94c-6a1e-4d4e-7'))?.stamps).toEqual({ tenant: 'the tenant 7' });
  });

  it('makes no longer texts than it is told to', async () => {
    const long = 'x'.repeat(100_000);
    const { publish, task } = open({ maxValueLength: 100 });
    publish('a', { result: long, args: [long], kwargs: { long } });
    publish('b', { status: 'FAILURE', result: { exc_type: 'E', exc_message: [long] } });
    const [cut, failed] = [await task('a'), await task('b')];
    const texts = [cut?.result, cut?.args, cut?.kwargs, failed?.exception].map(String);
    for (const { length } of texts) expect(length).toBeLessThanOrEqual(100);
    expect(cut?.truncated).toEqual(expect.arrayContaining(['result', 'args', 'kwargs']));
  });

  it('that is not one is counted and not read', async () => {
    const texts = [
      ...['', '3', 'null', '[]', '{}', '{"status": 3}', '{"status": "SUCCESS"'],
      ...['{"status": "SUCCESS", "result": [1, 2}', '{"status" "SUCCESS"}', '{"status": "SUCCESS" "a": 1}'],
      ...['{status: 1}', '\u0080\u0004\u0095', 'status: SUCCESS\n', 'x\u009c\u00cb'],
    ];
    const { publish, task, component } = open();
    for (const text of texts) publish('a', text);
    expect(await task('a')).toBeNull();
    expect((await component('collector')).config).toMatchObject({ dropped: texts.length });
  });
});

describe('the children in a stored result', () => {
  const child = (id: string, parent: string | null = null) => [[id, parent], null];
  const groupOf = (id: string, ...members: unknown[]) => [[id, null], members];

  /** The tasks that a meta with this text for `children` has sent, by parent or group. */
  async function childrenOf(children: string): Promise<{ state: unknown; related: string[] }> {
    const { publish, hear, task, tree } = open();
    publish('a', metaOf('a', { children: '@' }).replace('"@"', children));
    const ids = ['b', 'c'];
    hear(...ids.map((uuid) => ({ type: 'task-received', uuid, hostname: 'w1@a', pid: 1, timestamp: 1 })));
    const trees = await Promise.all(ids.map((id) => tree(id)));
    const related = trees.flatMap((one) => (one === null ? [] : relationsOf(one)));
    const lines = related.map(({ parent, child: id, relation }) => `${parent} ${relation} ${id}`);
    return { state: (await task('a'))?.state, related: [...new Set(lines)].sort() };
  }

  it('are tasks and groups, also within each other', async () => {
    const rows: [children: unknown, related: string[]][] = [
      [[], []],
      [null, []],
      [[child('b'), child('c', 'p')], ['a child b']],
      [
        [groupOf('g', child('b'), groupOf('h', child('c')))],
        ['a child b', 'a child c', 'g group b', 'h group c'],
      ],
      // A child of another task, here with its own parents.
      [[[['c', [['p', [['q', null], null]], null]], null]], []],
    ];
    const found = await Promise.all(rows.map(([children]) => childrenOf(JSON.stringify(children))));
    expect(found).toEqual(rows.map(([, related]) => ({ state: 'SUCCESS', related })));
  });

  it('are nobody where they are broken, endless or very many, and do not hide the state', async () => {
    const broken = [
      ...['{"a": 1}', '"b"', '3', '[3, "b", null, {}]', '[[["b", null], {"0": 1}]]', '[NaN]'],
      '[[["", null], null], [[3, null], null], [[], null], [[["b", null], 3]]]',
      `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
      `[${Array(200_000).fill('[["b", null], null]').join()}]`,
    ];
    const found = await Promise.all(broken.map(childrenOf));
    expect(found).toEqual(broken.map(() => ({ state: 'SUCCESS', related: [] })));
    const nested = `${'[[["g", null], '.repeat(5000)}null${']]'.repeat(5000)}`;
    expect((await childrenOf(nested)).state).toBe('SUCCESS');
    const many = `[${Array.from({ length: 20_000 }, (_, at) => `[["m${at}", null], null]`).join()}]`;
    expect((await childrenOf(many)).state).toBe('SUCCESS');
  });

  it('are named by a stored group, too, and by nothing that is none', async () => {
    const texts = [
      '',
      '3',
      'null',
      '{}',
      '{"result": null}',
      '{"result": [["g", null], null]}',
      '{"result": [[',
    ];
    const { publish, publishGroup, task } = open();
    for (const id of ['a', 'b']) publish(id, {});
    for (const text of texts) publishGroup('g', text);
    expect((await task('a'))?.groupId ?? null).toBeNull();
    publishGroup('g', '{"result": [["g", null], [[["a", null], null], [["b", null], null]]]}');
    expect([(await task('a'))?.groupId, (await task('b'))?.groupId]).toEqual(['g', 'g']);
  });
});

describe('tasks that never ran and failed because another one did', () => {
  const failed = {
    ...{ status: 'FAILURE', traceback: 'Traceback (most recent call last):\nValueError: boom\n' },
    result: { exc_type: 'ValueError', exc_message: ['boom'], exc_module: 'builtins' },
  };
  const extended = { args: [3], kwargs: {}, worker: null, retries: 0, queue: null };
  /** Celery stores the failure of a step for the steps behind it, which no worker has. */
  const step = { ...failed, ...extended, name: 'lab.add' };
  const culprit = { ...failed, ...extended, name: 'lab.fail', worker: 'w1@a', queue: 'celery' };
  const body = {
    ...failed,
    result: {
      ...{ exc_type: 'ChordError', exc_module: 'celery.exceptions' },
      exc_message: ["Dependency culprit raised ValueError('boom')"],
    },
    traceback: 'Traceback (most recent call last):\n  File "redis.py", line 1, in on_chord_part_return\n',
  };

  it('are flagged, as steps of a chain and as the body of a chord, and are no failures in statistics', async () => {
    const { publish, hear, task, sources } = open();
    const date_done = new Date().toISOString();
    for (const [id, meta] of Object.entries({ culprit, step, body })) publish(id, { ...meta, date_done });
    const flags = async (id: string) => (await task(id))?.flags;
    expect([await flags('step'), await flags('body'), await flags('culprit')]).toEqual([
      ['consequence'],
      ['consequence'],
      [],
    ]);
    const shown = await task('step');
    expect(shown).toMatchObject({ state: 'FAILURE', exception: "ValueError('boom')" });
    expect(shown?.timeline?.map(({ state }) => state)).toEqual(['FAILURE']);
    const window = { minutes: 60, now: new Date(Date.now() + 1_000), filter: queryOf({}) };
    const stats = await sources.tasks.getTaskStats?.(window, context);
    expect(stats?.series.reduce((sum, { failed: count }) => sum + (count ?? 0), 0)).toBe(1);
    expect(stats?.names.map(({ name, count, failed: count2 }) => [name, count, count2]).sort()).toEqual([
      ['lab.add', 1, 0],
      ['lab.fail', 1, 1],
    ]);
    expect(stats?.states).toEqual({ FAILURE: 3 });
    // A worker reports that it ran after all.
    const timestamp = Date.now() / 1000 + 1;
    hear({ type: 'task-failed', uuid: 'step', hostname: 'w1@a', pid: 1, timestamp, exception: 'E()' });
    expect(await flags('step')).toEqual([]);
  });

  it('are not seen where nothing shows it', async () => {
    const tasks = await tasksOf(
      failed,
      // Its worker does not know the task.
      { ...step, name: null, traceback: 'of another failure' },
      // It waited for a chord itself.
      { ...body, traceback: 'File "result.py", line 5, in get' },
    );
    expect(tasks.map((task) => task?.flags)).toEqual([[], [], []]);
  });
});
