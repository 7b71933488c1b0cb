/** Instances that share a store give one answer, whoever is asked. */
import { describe, expect, it } from 'vitest';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { until } from '../helpers/redis-server.ts';
import { CONTEXT, query, told } from '../history/telling.ts';
import { countingLab, write } from './counting.ts';
import { instanceOf, untilReady, untilWritten } from './instances.ts';

const IDS = Array.from({ length: 20 }, (_, n) => `t${n}`);

/** Tells an instance of a step in the life of each task. */
function tellAll({ writer }: StoredHistory, change: Parameters<typeof told>[0]): void {
  for (const id of IDS) writer.recordTask(told({ ...change, id }));
}

/** How many tasks an instance shows in each state. */
async function statesIn({ reader }: StoredHistory): Promise<Record<string, number>> {
  const { tasks } = await reader.listTasks(query({ limit: 100 }), CONTEXT);
  const states: Record<string, number> = {};
  for (const { state } of tasks) states[state] = (states[state] ?? 0) + 1;
  return states;
}

describe('instances that record parts of the same tasks', () => {
  /** One process sends tasks, another one runs them; both have written what they know, and know that the other has. */
  async function lab() {
    const store = createArrayStore();
    const open = (): StoredHistory => instanceOf({ store, hearing: 'part' });
    const [client, worker] = [open(), open()];
    await until(() => client.hasOthers() && worker.hasOthers());
    const time = Date.now();
    tellAll(client, { type: 'sent', time, name: 'mail.send' });
    await untilWritten(client);
    const before = client.reader.freshness('tasks').revision;
    const name = 'mail.send';
    tellAll(worker, { type: 'received', time: time + 1, worker: 'w1@a', name });
    tellAll(worker, { type: 'started', time: time + 2, worker: 'w1@a', name });
    tellAll(worker, { type: 'succeeded', time: time + 3, worker: 'w1@a', name });
    await untilWritten(worker);
    await until(() => client.reader.freshness('tasks').revision !== before);
    return { store, client, worker, open };
  }

  it('leave all of it to one that starts later', async () => {
    const { open } = await lab();
    const later = open();
    await untilReady(later);
    expect(await statesIn(later)).toEqual({ SUCCESS: IDS.length });
  });

  it('show what is stored, also of tasks of which they know a part', async () => {
    const { client, worker } = await lab();
    for (const one of [worker, client]) {
      expect(await statesIn(one)).toEqual({ SUCCESS: IDS.length });
      const whole = { state: 'SUCCESS', name: 'mail.send', worker: 'w1@a', sent: expect.any(Date) };
      expect(await one.reader.getTask('t0', CONTEXT)).toMatchObject(whole);
      expect((await one.reader.getTaskTree('t0', CONTEXT))?.tasks).toMatchObject([whole]);
      const asked = { minutes: 60, now: new Date(), filter: query() };
      expect((await one.reader.getTaskStats(asked, CONTEXT)).states).toEqual({ SUCCESS: IDS.length });
    }
  });

  it('add at once what they have not written yet', async () => {
    const { client } = await lab();
    client.writer.recordTask(told({ id: 't0', type: 'succeeded', time: Date.now() + 60_000, result: '7' }));
    client.writer.recordTask(told({ id: 'new', type: 'sent', time: Date.now() }));
    const [first] = (await client.reader.listTasks(query({ limit: 1 }), CONTEXT)).tasks;
    expect(first).toMatchObject({ id: 't0', result: '7', name: 'mail.send', worker: 'w1@a' });
    expect(await statesIn(client)).toEqual({ SUCCESS: IDS.length, PENDING: 1 });
  });

  it('say that rows may be missing while more wait to be written than are looked through', async () => {
    const { store, client } = await lab();
    store.before = (call) => {
      if (call === 'tasks.write') throw new Error('No table may be written.');
    };
    for (let n = 0; n < 1_001; n++)
      client.writer.recordTask(told({ id: `new${n}`, type: 'sent', time: Date.now() }));
    const { tasks, cursorExact } = await client.reader.listTasks(query({ limit: 5 }), CONTEXT);
    expect([tasks.length, cursorExact]).toEqual([5, false]);
  });
});

describe('the lengths of queues that instances record, each of its own queue', () => {
  const LENGTHS = [
    ['mail', [7, 7, 7]],
    ['orders', [2, 2, 2]],
  ];

  /** Two instances that have recorded and written the lengths of three minutes. */
  async function lab() {
    const counting = countingLab({ taskDays: 7 });
    const start = () => counting.start({ hearing: 'part' });
    const [one, other] = [await start(), await start()];
    for (const minute of [0, 1, 2]) {
      counting.moveTo(minute);
      one.writer.recordQueue('mail', 7, null);
      other.writer.recordQueue('orders', 2, null);
    }
    counting.moveTo(3);
    for (const history of [one, other]) await write(history, counting);
    await until(() => one.hasOthers() && other.hasOthers());
    return { one, other, start, now: new Date(counting.now()) };
  }

  async function lengthsIn({ reader }: StoredHistory, now: Date) {
    const asked = { minutes: 3, now, stepSeconds: 60, filter: query() };
    const { queueDepths = [] } = await reader.getTaskStats(asked, CONTEXT);
    return queueDepths.map(({ queue, waiting }) => [queue, waiting.slice(0, 3)]).sort();
  }

  it('are shown by one that starts later', async () => {
    const { start, now } = await lab();
    expect(await lengthsIn(await start(), now)).toEqual(LENGTHS);
  });

  it('are shown by each of them', async () => {
    const { one, other, now } = await lab();
    for (const history of [one, other]) expect(await lengthsIn(history, now)).toEqual(LENGTHS);
  });
});
