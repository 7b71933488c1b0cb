import { describe, expect, it } from 'vitest';
import type { History } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { Activity } from '../../src/source.ts';
import { CONTEXT, T0, told } from './telling.ts';

const MINUTE = 60_000;
const at = (minute: number): number => T0 + minute * MINUTE;

/** A history that began at T0 and whose clock can be moved. */
function historyAt(minute: number): {
  history: History;
  moveTo(minute: number): void;
  open(): Promise<Activity>;
} {
  let now = T0;
  const history = createMemoryHistory({ now: () => now });
  now = at(minute);
  return {
    history,
    moveTo(next) {
      now = at(next);
    },
    open: async () => await history.reader.getActivity(CONTEXT),
  };
}

describe('the summary of open tasks', () => {
  it('lists what runs, longest first, custom states by their start', async () => {
    const { history, open } = historyAt(10);
    const { writer } = history;
    writer.recordTask(told({ id: 'b', type: 'started', name: 'n', worker: 'w', time: at(2) }));
    writer.recordTask(told({ id: 'a', type: 'started', name: 'm', worker: 'w', time: at(1) }));
    writer.recordTask(told({ id: 'a', type: 'custom', state: 'PROGRESS', worker: 'w', time: at(5) }));
    writer.recordTask(told({ id: 'c', type: 'started', worker: 'w', time: at(1) }));
    writer.recordTask(told({ id: 'c', type: 'succeeded', worker: 'w', time: at(2) }));
    const { running, isWhole } = (await open()).open;
    expect(running).toEqual([
      { id: 'a', name: 'm', worker: 'w', startedAt: at(1), state: 'PROGRESS' },
      { id: 'b', name: 'n', worker: 'w', startedAt: at(2) },
    ]);
    expect(isWhole).toBe(true);
  });

  it('counts retries that wait on a worker as overdue, and as lost with it', async () => {
    const { history, moveTo, open } = historyAt(0);
    const by = { worker: 'gone' };
    for (const id of ['waits', 'not there yet']) {
      history.writer.recordTask(told({ id, ...by, type: 'received', retries: 0, time: at(0), eta: at(0) }));
      history.writer.recordTask(told({ id, ...by, type: 'started', time: at(0) + 1 }));
      history.writer.recordTask(told({ id, ...by, type: 'retried', time: at(0) + 2 }));
    }
    const next = told({ id: 'waits', ...by, type: 'received', retries: 1, time: at(0) + 3, eta: at(5) });
    history.writer.recordTask(next);
    expect((await open()).open).toMatchObject({ running: [], overdue: null, lost: [] });
    moveTo(30);
    const { overdue, lost } = (await open()).open;
    expect(overdue).toEqual({ count: 1, since: at(5), states: ['RETRY'], examples: ['waits'] });
    expect(lost).toMatchObject([{ worker: 'gone', count: 1, states: ['RETRY'], examples: ['waits'] }]);
  });

  it('counts every lost task, however many, by worker', async () => {
    const { history, moveTo, open } = historyAt(0);
    for (let id = 0; id < 5_000; id++) {
      const worker = id < 3_000 ? 'gone' : 'there';
      history.writer.recordTask(told({ id: String(id), type: 'received', worker, time: at(0) + id }));
    }
    moveTo(30);
    history.writer.recordWorker({ hostname: 'there', type: 'heartbeat', time: at(30) });
    const { lost } = (await open()).open;
    expect(lost).toEqual([
      {
        worker: 'gone',
        isWorkerOnline: false,
        count: 3_000,
        since: at(0),
        states: ['RECEIVED'],
        examples: ['0', '1', '2'],
      },
    ]);
  });

  it('counts tasks of the former process of a worker that is online again, but none that it has touched since', async () => {
    const { history, open } = historyAt(10);
    const { writer } = history;
    writer.recordWorker({ hostname: 'w', type: 'online', time: at(0), pid: 1 });
    writer.recordTask(told({ id: 'old', type: 'started', worker: 'w', time: at(1) }));
    writer.recordWorker({ hostname: 'w', type: 'online', time: at(5), pid: 2 });
    writer.recordTask(told({ id: 'new', type: 'received', worker: 'w', time: at(6) }));
    expect((await open()).open.lost).toMatchObject([
      { worker: 'w', isWorkerOnline: true, count: 1, examples: ['old'] },
    ]);
    writer.recordTask(told({ id: 'old', type: 'custom', state: 'PROGRESS', worker: 'w', time: at(7) }));
    expect((await open()).open.lost).toEqual([]);
  });

  it('counts what waits by queue since it could start, and not what waits for its eta', async () => {
    const { history, open } = historyAt(10);
    const { writer } = history;
    writer.recordTask(told({ id: '1', type: 'sent', queue: 'q', time: at(1), eta: at(4) }));
    writer.recordTask(told({ id: '2', type: 'sent', queue: 'q', time: at(6) }));
    writer.recordTask(told({ id: '3', type: 'sent', queue: 'q', time: at(0), eta: at(60) }));
    writer.recordTask(told({ id: '4', type: 'sent', queue: 'r', time: at(3) }));
    writer.recordTask(told({ id: '4', type: 'received', worker: 'w', time: at(4) }));
    const { waiting, overdue } = (await open()).open;
    expect(waiting).toEqual([
      { queue: 'q', count: 2, since: at(4), states: ['PENDING'], examples: ['1', '2'] },
    ]);
    expect(overdue).toEqual({ count: 1, since: at(4), states: ['PENDING'], examples: ['1'] });
  });

  it('counts a task that waits for its retry as lost with its worker, and as overdue', async () => {
    const { history, moveTo, open } = historyAt(1);
    const { writer } = history;
    writer.recordTask(told({ type: 'received', worker: 'w', time: at(0), name: 'n' }));
    writer.recordTask(told({ type: 'started', worker: 'w', time: at(0) + 1 }));
    writer.recordTask(told({ type: 'retried', worker: 'w', time: at(1) }));
    writer.recordTask(
      told({ type: 'received', worker: 'w', time: at(1), retries: 1, eta: at(5), name: 'n' }),
    );
    expect((await open()).open).toMatchObject({ lost: [], overdue: null });
    moveTo(20);
    expect((await open()).open).toMatchObject({
      lost: [{ worker: 'w', count: 1, states: ['RETRY'] }],
      overdue: { count: 1, since: at(5), states: ['RETRY'] },
    });
  });

  it('counts no task that has ended unseen', async () => {
    const { history, moveTo, open } = historyAt(1);
    history.writer.recordTask(told({ type: 'started', worker: 'w', time: at(0) }));
    history.writer.recordEndUnseen('a', true);
    moveTo(20);
    expect((await open()).open).toMatchObject({ running: [], lost: [], missing: null });
  });

  it('counts what was sent and is nowhere apart', async () => {
    const { history, open } = historyAt(10);
    history.writer.recordTask(told({ id: '1', type: 'sent', queue: 'q', time: at(1) }));
    history.writer.recordMissing('1', true);
    expect((await open()).open).toMatchObject({ waiting: [], missing: { count: 1, since: at(1) } });
  });

  it('names workers that fell silent, and none that said goodbye', async () => {
    const { history, moveTo, open } = historyAt(0);
    for (const hostname of ['silent', 'closed'])
      history.writer.recordWorker({ hostname, type: 'online', time: at(0) });
    history.writer.recordWorker({ hostname: 'closed', type: 'offline', time: at(0) + 1 });
    moveTo(5);
    expect((await open()).silent).toEqual([{ hostname: 'silent', heardAt: at(0) }]);
  });

  it('says since when everything was heard, but for moments', async () => {
    const { history, moveTo, open } = historyAt(0);
    expect((await open()).since).toBe(T0);
    for (const [from, to] of [
      [5, 9],
      [20, 20.1],
    ] as const) {
      moveTo(from);
      history.writer.freezeAt(new Date(at(from)));
      moveTo(to);
      history.writer.freezeAt(null);
    }
    expect((await open()).since).toBe(at(9));
  });
});
