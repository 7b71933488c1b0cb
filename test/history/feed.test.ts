import { describe, expect, it } from 'vitest';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { TaskEventPage, TaskEventQuery } from '../../src/source.ts';
import { CONTEXT, T0, told } from './telling.ts';

function feedOf(maxEvents = 5) {
  let now = T0;
  const history = createMemoryHistory({ now: () => now, maxEvents });
  let sent = 0;
  return {
    history,
    wait: (ms: number) => {
      now += ms;
    },
    send: (count = 1) => {
      for (let n = 0; n < count; n++) {
        sent++;
        history.writer.recordTask(
          told({ id: `t${sent}`, type: 'sent', time: now, name: `lab.n${sent % 2}` }),
        );
      }
    },
    read: async (query: Partial<TaskEventQuery> = {}): Promise<TaskEventPage> =>
      await history.reader.listEvents(
        { limit: 50, since: null, states: [], workers: [], tasks: [], ...query },
        CONTEXT,
      ),
  };
}

const ids = (page: TaskEventPage) => page.events.map(({ taskId }) => taskId);

describe('the feed', () => {
  it('has no event type of Celery for a state that only the result backend reports', async () => {
    const { history, read } = feedOf();
    const change = { type: 'custom', state: 'IMPORTING' } as const;
    history.writer.recordTask(told({ ...change, time: null, origin: 'result' }));
    history.writer.recordTask(told({ ...change, id: 'b', eventType: 'task-importing' }));
    const { events } = await read();
    expect(events.map(({ type, state }) => [type, state])).toEqual([
      ['task-importing', 'IMPORTING'],
      ['state-changed', 'IMPORTING'],
    ]);
  });

  it('lists the newest items first', async () => {
    const { send, read } = feedOf();
    send(3);
    const page = await read({ limit: 2 });
    expect(ids(page)).toEqual(['t3', 't2']);
    expect(page.gap).toBe(false);
    expect(page.events[0]).toMatchObject({
      type: 'task-sent',
      state: 'PENDING',
      task: 'lab.n1',
      worker: null,
    });
  });

  it('of a fresh instance has a gap until it fills the page', async () => {
    const { history, send, read } = feedOf();
    expect((await read({ limit: 2 })).gap).toBe(true);
    send(1);
    expect((await read({ limit: 2 })).gap).toBe(true);
    send(1);
    expect((await read({ limit: 2 })).gap).toBe(false);
    history.writer.recordGap();
    expect((await read({ limit: 2 })).gap).toBe(true);
    send(2);
    expect((await read({ limit: 3 })).gap).toBe(true);
    expect((await read({ limit: 2 })).gap).toBe(false);
  });

  it('has none where everything that happens is recorded', async () => {
    const history = createMemoryHistory({ backdated: true, maxEvents: 2 });
    const read = async () =>
      (
        await history.reader.listEvents(
          { limit: 9, since: null, states: [], workers: [], tasks: [] },
          CONTEXT,
        )
      ).gap;
    expect(await read()).toBe(false);
    for (const id of ['a', 'b']) history.writer.recordTask(told({ id, type: 'sent', time: T0 }));
    expect(await read()).toBe(false);
    history.writer.recordTask(told({ id: 'c', type: 'sent', time: T0 }));
    expect(await read()).toBe(true);
  });

  it('goes on from a cursor, oldest first, until nothing is left', async () => {
    const { send, read } = feedOf();
    send(1);
    const first = await read();
    expect(await read({ since: { cursor: first.cursor } })).toEqual({
      events: [],
      cursor: first.cursor,
      gap: false,
    });
    send(3);
    const second = await read({ since: { cursor: first.cursor }, limit: 2 });
    expect(ids(second)).toEqual(['t3', 't2']);
    const third = await read({ since: { cursor: second.cursor }, limit: 2 });
    expect(ids(third)).toEqual(['t4']);
    expect(third.gap).toBe(false);
  });

  it('says that items after the cursor are no longer held', async () => {
    const { send, read } = feedOf(5);
    const start = await read();
    send(5);
    expect((await read({ since: { cursor: start.cursor } })).gap).toBe(false);
    send(1);
    const page = await read({ since: { cursor: start.cursor } });
    expect(page.gap).toBe(true);
    expect(ids(page)).toEqual(['t6', 't5', 't4', 't3', 't2']);
  });

  it('answers a cursor of another instance with what it holds, and says so', async () => {
    const { send, read } = feedOf();
    send(2);
    for (const cursor of ['0123456789ab.1', 'nonsense', '', '..']) {
      const page = await read({ since: { cursor } });
      expect(ids(page)).toEqual(['t2', 't1']);
      expect(page.gap).toBe(true);
    }
  });

  it('goes on from a moment, its own millisecond included', async () => {
    const { send, read, wait } = feedOf();
    send(1);
    wait(10);
    send(1);
    wait(10);
    send(1);
    expect(ids(await read({ since: { time: new Date(T0 + 10) } }))).toEqual(['t3', 't2']);
    expect(ids(await read({ since: { time: new Date(T0 + 11) } }))).toEqual(['t3']);
    expect(await read({ since: { time: new Date(T0 + 21) } })).toMatchObject({ events: [], gap: false });
    expect((await read({ since: { time: new Date(T0) } })).gap).toBe(false);
    expect((await read({ since: { time: new Date(T0 - 1) } })).gap).toBe(true);
  });

  it('says when something was missed in between, to those who read before', async () => {
    const { history, send, read, wait } = feedOf();
    send(2);
    const before = await read();
    wait(5);
    history.writer.recordGap();
    wait(5);
    send(1);
    expect((await read({ since: { cursor: before.cursor } })).gap).toBe(true);
    expect((await read({ since: { time: new Date(T0 + 1) } })).gap).toBe(true);
    const after = await read();
    send(1);
    expect((await read({ since: { cursor: after.cursor } })).gap).toBe(false);
    expect((await read({ since: { time: new Date(T0 + 10) } })).gap).toBe(false);
  });

  it('reports each gap once to those who go on with the cursor', async () => {
    const { history, send, read, wait } = feedOf();
    const goOn = ({ cursor }: TaskEventPage, limit = 50) => read({ since: { cursor }, limit });
    send(1);
    const before = await read();
    history.writer.recordGap();
    const quiet = await goOn(before);
    expect(quiet).toMatchObject({ events: [], gap: true });
    // Nothing came in between: it is the same gap.
    wait(5);
    history.writer.recordGap();
    expect((await goOn(quiet)).gap).toBe(false);
    send(2);
    const after = await goOn(quiet);
    expect([ids(after), after.gap]).toEqual([['t3', 't2'], false]);
    history.writer.recordGap();
    send(2);
    const first = await goOn(after, 1);
    expect([ids(first), first.gap]).toEqual([['t4'], true]);
    const second = await goOn(first);
    expect([ids(second), second.gap]).toEqual([['t5'], false]);
    // Who was not told is told.
    expect((await goOn(after)).gap).toBe(true);
  });

  it('filters by state, worker and task name', async () => {
    const { history, send, read } = feedOf();
    send(2);
    history.writer.recordTask(told({ id: 't1', type: 'started', worker: 'w@h', time: T0 + 1 }));
    expect(ids(await read({ states: ['STARTED'] }))).toEqual(['t1']);
    expect(ids(await read({ workers: ['w@h'] }))).toEqual(['t1']);
    expect(ids(await read({ tasks: ['lab.n1'] }))).toEqual(['t1', 't1']);
    expect(ids(await read({ tasks: ['lab.n0', 'lab.n1'], states: ['PENDING'] }))).toEqual(['t2', 't1']);
    expect(ids(await read({ states: ['FAILURE'] }))).toEqual([]);
  });
});
