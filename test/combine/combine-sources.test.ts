import { describe, expect, it, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { celerySources } from '../../src/celery.ts';
import { combineSources, createMonitorRouter } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { TaskEvent } from '../../src/model.ts';
import type { MonitorSources, SourceStatus, TaskEventSource } from '../../src/source.ts';
import type { ComponentsBody, EventsBody, TasksBody } from '../../src/wire.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { serve, until } from '../router/host-kit.ts';
import { at, createShop } from '../router/shop-sources.ts';
import { eventSource } from './combine-kit.ts';

describe('combineSources', () => {
  const sources: MonitorSources = createShop().sources;

  it('refuses what it cannot combine, and says what to write', () => {
    expect(() => combineSources()).toThrow(/combineSources: write one or more sources/);
    for (const given of [null, undefined, 7, 'celery']) {
      expect(() => combineSources(given as never)).toThrow(
        /combineSources: 'sources\[0\]' must be an object/,
      );
    }
    expect(() => combineSources([sources] as never)).toThrow(
      /'sources\[0\]' must be one source, not an array\. Write combineSources\(a, b\)/,
    );
    expect(() => combineSources(sources, { task: sources.tasks } as never)).toThrow(/Did you mean 'tasks'/);
    expect(() => combineSources(sources, { tasks: { name: 'x' } as never })).toThrow(
      /'sources\[1\]\.tasks\.listTasks' must be a function/,
    );
    expect(() => combineSources(sources, sources)).toThrow(TypeError);
    expect(() => combineSources(sources, combineSources(sources))).toThrow(/two sources .* are named 'shop'/);
  });

  it('is named where bundles that overlap have been spread into one', () => {
    const queue = memorySources();
    const other = memorySources({ name: 'other' });
    const spread = { ...queue, ...other };
    for (const sources of [
      spread,
      { ...queue, ...combineSources(other) },
      { ...spread, tasks: other.tasks },
    ]) {
      const refusal =
        /'sources(?:\[0\])?' has been spread from bundles that both have 'tasks'.* Write combineSources\(a, b\)/;
      expect(() => createMonitorRouter({ sources, authorize: false })).toThrow(refusal);
      expect(() => combineSources(sources)).toThrow(refusal);
    }
    // One part is replaced like this; what is spread twice is still one bundle.
    for (const sources of [
      { ...queue, tasks: other.tasks },
      { ...queue, ...{ ...queue } },
    ]) {
      expect(() => createMonitorRouter({ sources, authorize: false })).not.toThrow();
    }
  });

  it('masks what a source has not masked itself by the rules of all, in this order: ours, keys, functions', async () => {
    const text = "{'password': 'p', 'tax_id': 't', 'iban': 'i', 'who': 'Ann'}";
    const other = (redact?: MonitorSources['redact']): MonitorSources => ({
      workers: { name: 'other', listWorkers: () => [] },
      ...(redact !== undefined && { redact }),
    });
    /** What is shown of a task whose source masks nothing itself. */
    const shownBeside = async (own: MonitorSources['redact'], ...others: MonitorSources[]) => {
      const task = { id: 'a', state: 'STARTED', args: text };
      const tasks = {
        name: 'shop',
        listTasks: () => ({ tasks: [task], next: null, total: 1 }),
        getTask: () => null,
      };
      const bundle: MonitorSources = { tasks, ...(own !== undefined && { redact: own }) };
      const { get } = await serve(EXPRESS, { sources: combineSources(bundle, ...others) });
      return (await get<TasksBody>('/api/tasks/')).body.tasks[0]?.args;
    };
    const named = (name: string): MonitorSources => ({ schedules: { name, listSchedules: () => [] } });
    const ours = text.replace("'p'", "'***'");
    const keys = { keys: ['tax id'], replaceKeys: true };
    const ann = (value: string) => value.replace('Ann', 'A.');

    expect(await shownBeside(false, other(false))).toBe(text);
    expect(await shownBeside(false, combineSources(other(false), { ...named('b'), redact: false }))).toBe(
      text,
    );
    expect(await shownBeside(false, other())).toBe(ours);
    expect(await shownBeside(undefined, other(false))).toBe(ours);
    expect(await shownBeside(ann, other())).toBe(ann(ours));
    expect(await shownBeside(false, other(ann))).toBe(ann(text));
    // Names replace ours only if all say so.
    const taxId = text.replace("'t'", "'***'");
    expect(await shownBeside(keys, other({ keys: ['iban'], replaceKeys: true }))).toBe(
      taxId.replace("'i'", "'***'"),
    );
    expect(await shownBeside(keys, other(ann), { ...named('b'), redact: false })).toBe(ann(taxId));
    expect(await shownBeside(keys, other({ keys: ['iban'] }))).toBe(
      ours.replace("'t'", "'***'").replace("'i'", "'***'"),
    );
    const last = (value: string) => `${value}${value.includes('Ann')}`;
    expect(await shownBeside(ann, other({ redact: last }))).toBe(`${ann(ours)}false`);
    expect(await shownBeside(() => undefined as never, other(last))).toBe('***false');
    expect(() => combineSources(other(), other(5 as never))).toThrow(
      /combineSources: 'sources\[1\]\.redact' must be an object such as/,
    );
  });

  it('leaves what a source has masked as that source shows it', async () => {
    const queue = memorySources({ redact: { keys: ['tax id'] } });
    queue.record({ id: 'a', state: 'STARTED', args: "{'password': 'p', 'tax_id': 't', 'iban': 'i'}" });
    const strict = memorySources({ name: 'strict', redact: (value) => `${value.length}` });
    strict.record({ id: 'b', state: 'STARTED', args: 'abc' });
    const { get } = await serve(EXPRESS, {
      sources: combineSources(queue, strict, { redact: { keys: ['iban'] } }),
    });
    const { tasks } = (await get<TasksBody>('/api/tasks/')).body;
    expect(new Map(tasks.map(({ task_id, args }) => [task_id, args]))).toEqual(
      new Map([
        ['a', "{'password': '***', 'tax_id': '***', 'iban': 'i'}"],
        ['b', '3'],
      ]),
    );
  });

  it('closes every source, also when one of them throws', async () => {
    const closed: string[] = [];
    const end = (name: string) => ({ close: () => void closed.push(name) });
    const fail = { close: () => Promise.reject(new Error('no')) };
    const failAtOnce = {
      close() {
        throw new RangeError('no');
      },
    };
    await expect(combineSources(end('a'), failAtOnce, end('b')).close?.()).rejects.toThrow(RangeError);
    await expect(combineSources(fail, combineSources(failAtOnce, end('c'))).close?.()).rejects.toThrow(
      AggregateError,
    );
    expect(closed).toEqual(['a', 'b', 'c']);
  });

  it('has figures only when every source has some, and workflows when any has', () => {
    const { getTaskStats: _, getTaskTree: __, ...bare } = createShop().sources.tasks;
    const { tasks } = combineSources(sources, { tasks: { ...bare, name: 'bare' } });
    expect(tasks?.getTaskStats).toBeUndefined();
    expect(tasks?.getTaskTree).toBeTypeOf('function');
  });
});

function feed(name: string) {
  const events: TaskEvent[] = [{ id: '1', type: 'task-sent', timestamp: at(1) }];
  const state: { status: SourceStatus } = { status: { ok: true, asOf: at(1), revision: 1 } };
  const part: TaskEventSource = { ...eventSource(name, events), status: () => state.status };
  return { events, state, sources: { events: part } };
}

it('a stream of two sources goes on when one of them goes away, and tells of it', async () => {
  const [east, west] = [feed('east'), feed('west')];
  const { base } = await serve(EXPRESS, { sources: combineSources(east.sources, west.sources) });
  const stream = await askStream<EventsBody>(base, '/api/events/latest/');
  const message = async (index: number): Promise<EventsBody | undefined> => {
    await until(() => stream.messages.length > index);
    return stream.messages[index]?.body;
  };
  expect((await message(0))?.sources.map(({ ok }) => ok)).toEqual([true, true]);
  west.state.status = { ok: false, asOf: at(1), revision: 1 };
  expect((await message(1))?.sources.map(({ ok }) => ok)).toEqual([true, false]);
  east.events.push({ id: '2', type: 'task-failed', timestamp: at(99) });
  east.state.status = { ok: true, asOf: at(99), revision: 2 };
  expect((await message(2))?.events.map(({ id }) => id)).toEqual(['east.2']);
  expect(stream.isOver()).toBe(false);
  east.state.status = { ok: false, asOf: at(99), revision: 2 };
  await until(() => stream.isOver());
  expect(stream.text()).toContain('retry: 2000');
});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'one Redis under Celery and BullMQ'), () => {
  it('is one finding when it dies, and none of the other rules says that all is well', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.kill());
    const sources = combineSources(
      celerySources({ broker: redis.url(0), backend: redis.url(1) }),
      bullmqSources({ connection: redis.url(2) }),
    );
    const host = await serve(EXPRESS, { sources, onError: () => {} });
    const read = async () => (await host.get<ComponentsBody>('/api/components/')).body;
    await until(async () => (await read())['celery.broker']?.status === 'up');
    const statusOf = (body: ComponentsBody, code: string) =>
      body.findings?.rules?.filter((rule) => rule.code === code).map(({ status }) => status);
    await until(async () => statusOf(await read(), 'source_down')?.join() === 'clear');
    await redis.kill();
    await until(async () => statusOf(await read(), 'source_down')?.join() === 'found');
    // A second look, when every part has noticed.
    await until(async () => {
      const { findings } = await read();
      return JSON.stringify(findings?.findings?.[0]?.evidence).includes('bullmq');
    });
    const { findings = [], rules = [] } = (await read()).findings ?? {};
    expect(findings).toMatchObject([{ code: 'source_down', source: null, severity: 'critical' }]);
    expect(findings[0]?.subject).toContain(String(redis.port));
    expect(new Set(rules.slice(1).map(({ status }) => status))).toEqual(new Set(['unknown']));
  });
});
