import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import type { TaskDetail } from '../../src/model.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';
import { componentOf } from '../helpers/celery-events.ts';
import {
  type Published,
  RECORDINGS,
  type Recording,
  shuffled,
  type Truth,
} from '../helpers/celery-recordings.ts';
import { type Told, whatIsTold } from '../helpers/celery-truth.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';

const context = { signal: new AbortController().signal };

/** The recordings are older than any retention by the time somebody runs this. */
const retention = { taskDays: 36_500 };

const isResult = ({ channel }: Published): boolean => channel.startsWith('celery-task');

const WITH_RESULTS = RECORDINGS.filter(({ hasResults }) => hasResults);

const ORDERS: readonly [string, (messages: readonly Published[]) => readonly Published[]][] = [
  ['as it was recorded', (messages) => messages],
  ['each message twice', (messages) => messages.flatMap((message) => [message, message])],
  ['the whole twice', (messages) => [...messages, ...messages]],
  ['senders mixed', (messages) => shuffled(messages, 1, 'mixed')],
  [
    'senders mixed otherwise, each message twice',
    (messages) =>
      shuffled(
        messages.flatMap((m) => [m, m]),
        2,
        'mixed',
      ),
  ],
  ['one sender after the other', (messages) => shuffled(messages, 3, 'blocks')],
  ['one sender after the other, otherwise', (messages) => shuffled(messages, 4, 'blocks')],
];

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'recorded traffic of Celery'), () => {
  let redis: RedisServer;
  let publisher: ReturnType<typeof createClient>;
  let opened: CelerySources[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    publisher = createClient({ url: redis.url() });
    await publisher.connect();
  });

  // Also after a failure: whoever still listens is counted as a receiver of what the next test publishes.
  afterEach(closeAll);

  afterAll(async () => {
    publisher?.destroy();
    await redis?.close();
  });

  async function closeAll(): Promise<void> {
    await Promise.all(opened.map((sources) => sources.close()));
    opened = [];
  }

  async function replay(
    recording: Recording,
    messages: readonly Published[],
    store?: ArrayStore,
  ): Promise<CelerySources> {
    const sources = celerySources({
      // The truth has raw values.
      redact: (text) => text,
      broker: redis.url(recording.database),
      ...(recording.hasResults ? { backend: redis.url(recording.database) } : {}),
      settings: recording.settings,
      retention,
      ...(store !== undefined && { store }),
    });
    opened.push(sources);
    await until(() => sources.tasks.status?.().ok === true);
    const heard = await Promise.all(
      messages.map(({ channel, message }) => publisher.publish(channel, message)),
    );
    const expected = heard.reduce((sum, count) => sum + count, 0);
    await until(async () => (await collector(sources)).messages === expected);
    return sources;
  }

  it('has the failures of each case in one group in every run, and none that follow from another', async () => {
    const found = new Map<string, Set<string | null>>();
    const wanted = new Map<string, Set<string | null>>();
    for (const recording of RECORDINGS) {
      const sources = await replay(recording, recording.messages);
      for (const { id, ...truth } of recording.tasks) {
        const task = await taskOf(sources, id);
        if (task?.state !== 'FAILURE') continue;
        const cause = queryOf().causeOf(task);
        if (isConsequence(truth)) expect([truth.case, cause]).toEqual([truth.case, null]);
        else {
          const member = recording.name === 'A4' ? `${truth.case} of A4` : truth.case;
          addTo(found, cause?.id ?? null, member);
          addTo(wanted, wentWrong(member), member);
          expect([truth.case, cause?.exception]).toEqual([truth.case, exceptionIn(truth)]);
        }
      }
      await closeAll();
    }
    expect(wanted.size).toBeGreaterThan(12);
    const names = (groups: typeof found): string[] =>
      [...groups.values()].map((cases) => [...cases].sort().join()).sort();
    expect(names(found)).toEqual(names(wanted));
  });

  it.each(WITH_RESULTS)('of run $name is told as truly over restarts, from a store', async (recording) => {
    const whole = await placesIn(await replay(recording, recording.messages), recording);
    const store = createArrayStore({ taskDays: 36_500 });
    const backend = createClient({ url: redis.url(recording.database) });
    await backend.connect();
    onTestFinished(() => backend.flushAll().then(() => backend.destroy()));
    const parts = [0, 0.25, 0.5, 0.75].map((share) => Math.floor(share * recording.messages.length));
    for (const [at, from] of parts.entries()) {
      await closeAll();
      const part = recording.messages.slice(from, parts[at + 1]);
      await replay(recording, part, store);
      // What is published is stored, and read at the next start.
      for (const { channel, message } of part.filter(isResult)) await backend.set(channel, message);
    }
    const [sources] = opened as [CelerySources];
    const told = [...whatIsTold(recording)].filter(([id]) => isTold(recording, id));
    expect(await untruths(sources, new Map(told))).toEqual([]);
    expect(await placesIn(sources, recording)).toEqual(whole);
  });

  describe.each(RECORDINGS)('of run $name', (recording) => {
    const told = whatIsTold(recording);

    it.each(ORDERS)('tells the truth of every task: %s', async (_, order) => {
      const sources = await replay(recording, order(recording.messages));
      expect(await untruths(sources, told)).toEqual([]);
      expect((await collector(sources)).dropped).toBe(0);
      const known = [...told.values()].filter(({ state }) => state !== null).length;
      expect(await countOf(sources)).toBe(known);
      expect(await workersOf(sources)).toEqual(['quiet@gamma', 'w1@alpha', 'w2@beta']);
    });
  });
});

/** What is shown wrongly of the tasks, in words. */
async function untruths(sources: CelerySources, told: ReturnType<typeof whatIsTold>): Promise<string[]> {
  const wrong: string[] = [];
  for (const [id, expected] of told) wrong.push(...differences(id, expected, await taskOf(sources, id)));
  return wrong;
}

/** Of what is behind a failure, no message need tell the place: whether it is known depends on what comes first. */
function isTold({ tasks }: Recording, id: string): boolean {
  const found = tasks.find((task) => task.id === id)?.case ?? '';
  return !['chain-broken', 'chord-broken', 'link-error-new'].includes(found);
}

/** The place of each task in its workflow. */
async function placesIn(sources: CelerySources, recording: Recording): Promise<unknown[]> {
  const places: unknown[] = [];
  for (const { id } of recording.tasks.filter((task) => isTold(recording, task.id))) {
    const task = await taskOf(sources, id);
    places.push([id, task?.parentId, task?.rootId, task?.groupId, task?.chordId]);
  }
  return places;
}

function addTo(groups: Map<string | null, Set<string | null>>, key: string | null, member: string): void {
  groups.set(key, (groups.get(key) ?? new Set()).add(member));
}

/** Tasks of a chain behind the one that failed, and the body of a chord whose header failed. */
function isConsequence({ case: what, name }: Pick<Truth, 'case' | 'name'>): boolean {
  return (what === 'chain-broken' || what === 'chord-broken') && name !== 'lab.fail';
}

/** What went wrong in a case. Cases that differ in a quoted value alone are one. */
function wentWrong(what: string): string {
  // The short run A4 lets its task fail with a message of its own.
  if (what === 'fail of A4') return 'mini';
  return what.replace(' of A4', '').replace('returns-exc', 'unserializable-result');
}

/** The class of the exception that a client saw, in a run with a result backend. */
function exceptionIn({ case: what, name }: Pick<Truth, 'case' | 'name'>): string {
  if (what === 'ignore-result-fail') return 'ValueError';
  if (what === 'unregistered') return 'NotRegistered';
  const told = RECORDINGS.flatMap(({ tasks }) => tasks).find(
    (task) => task.case === what && task.name === name && task.client_state === 'FAILURE',
  );
  return told?.client_result?.split('(')[0] ?? '';
}

async function collector(sources: CelerySources): Promise<Record<string, unknown>> {
  return (await componentOf(sources, 'collector')).config;
}

async function taskOf(sources: CelerySources, id: string): Promise<TaskDetail | null> {
  return await sources.tasks.getTask(id, context);
}

async function countOf(sources: CelerySources): Promise<number> {
  return (await sources.history.getHistoryStats(context)).tasks;
}

async function workersOf(sources: CelerySources): Promise<string[]> {
  return (await sources.workers.listWorkers(context)).map(({ hostname }) => hostname);
}

/** What is wrong with a task, in words. */
function differences(id: string, told: Told, task: TaskDetail | null): string[] {
  if (told.state === null) return task === null ? [] : [`${id}: nothing tells of it, yet it is listed`];
  if (task === null) return [`${id}: missing, should be ${told.state}`];
  const wrong: string[] = [];
  const compare = (field: string, got: unknown, allowed: readonly unknown[]): void => {
    if (!allowed.includes(got ?? null))
      wrong.push(`${id}: ${field} is ${got}, should be ${allowed.join(' or ')}`);
  };
  const moment = (field: string, got: Date | null | undefined, expected: number | null): void => {
    // A Date holds whole milliseconds.
    if (expected === null ? got != null : Math.abs((got?.getTime() ?? 0) - expected) > 1) {
      wrong.push(`${id}: ${field} is ${got?.toISOString()}, should be ${expected}`);
    }
  };
  compare('state', task.state, [told.state]);
  compare('name', task.name, [told.name]);
  compare('worker', task.worker, [told.worker]);
  compare('queue', task.queue, [told.queue]);
  compare('retries', task.retries, [told.retries]);
  if (told.args !== undefined) compare('args', task.args, [told.args]);
  if (told.kwargs !== undefined) compare('kwargs', task.kwargs, [told.kwargs]);
  moment('eta', task.eta, told.eta);
  compare('runtime', task.runtime, [told.runtime]);
  compare('parent', task.parentId, told.parent);
  compare('root', task.rootId, told.root);
  moment('sent', task.sent, told.sent);
  moment('received', task.received, told.received);
  if (told.started !== undefined) moment('started', task.started, told.started);
  moment('finished', task.finished, told.finished);
  if (told.result !== null && !String(task.result).startsWith(told.result)) {
    wrong.push(`${id}: result is ${String(task.result).slice(0, 80)}, should be ${told.result.slice(0, 80)}`);
  }
  return wrong;
}
