/** Attempts that ran more than once. Each message is what a worker of Celery reports. */
import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { CONTEXT, historyOf, orders, T0, taskOf, tasksOf, told } from './telling.ts';

const W1 = 'w1@alpha';
const W2 = 'w2@beta';

type Fields = Partial<TaskChange>;

/** A message so many seconds after the first one. */
const at = (seconds: number, type: TaskChange['type'], fields: Fields = {}): TaskChange =>
  told({ type, time: T0 + seconds * 1_000, name: 'mail.send', ...fields });
const begun = (seconds: number, worker: string, retries: number | null = 0): TaskChange[] => [
  at(seconds, 'received', { worker, retries }),
  at(seconds + 0.1, 'started', { worker }),
];
const ended = (seconds: number, worker: string, type: TaskChange['type'] = 'succeeded'): TaskChange =>
  at(seconds, type, { worker });
const stored = (seconds: number): TaskChange => at(seconds, 'succeeded', { origin: 'result' });
const sent = (seconds: number, retries = 0): TaskChange => at(seconds, 'sent', { retries });

/** Redis delivers the message again after 5 s, while the first worker runs the task for 12 s. */
const AGAIN = [...begun(1, W1), ...begun(6, W2), ended(13, W1), ended(18, W2)];

describe('a task of which an attempt ran twice', () => {
  it('has the flag in every order of arrival', async () => {
    const tasks = await tasksOf(orders(AGAIN));
    expect(new Set(tasks.map(({ flags }) => flags?.join()))).toEqual(new Set(['ran_twice']));
  });

  it('has it from the end of the first run on', async () => {
    expect((await taskOf(AGAIN.slice(0, 4))).flags).toEqual([]);
    expect(await taskOf(AGAIN.slice(0, 5))).toMatchObject({ flags: ['ran_twice'] });
  });

  it('keeps it while it runs once more', async () => {
    expect(await taskOf([...AGAIN, ...begun(20, W1)])).toMatchObject({
      state: 'STARTED',
      flags: ['ran_twice'],
    });
  });

  it('has it while a worker has its next attempt and has not started it', async () => {
    const again = at(15, 'received', { worker: W2, retries: 1 });
    const tasks = await tasksOf(orders([...AGAIN.slice(0, 5), again]));
    expect(new Set(tasks.map(({ state, flags }) => `${state} ${flags}`))).toEqual(
      new Set(['RETRY ran_twice']),
    );
  });

  it('waits for the retry of its second run although the first one succeeded meanwhile', async () => {
    const changes = [...begun(1, W1), ...begun(6, W2), ended(13, W1), ended(18, W2, 'retried')];
    const tasks = await tasksOf(orders(changes));
    expect(new Set(tasks.map(({ state, flags }) => `${state} ${flags}`))).toEqual(
      new Set(['RETRY ran_twice']),
    );
  });

  it.each<[string, readonly TaskChange[]]>([
    ['on the same worker', [...begun(1, W1), ...begun(6, W1), ended(13, W1), ended(18, W1)]],
    [
      'one after the other, sent once',
      [sent(0), ...begun(1, W1), ended(13, W1), ...begun(14, W1), ended(26, W1)],
    ],
    [
      'while its worker had lost the connection, so that the result alone tells of its first end',
      [
        ...[sent(0), ...begun(1, W1), at(4, 'received', { worker: W1, retries: 0 })],
        ...[stored(21), at(21.1, 'started', { worker: W1 }), stored(41), ended(41.1, W1)],
      ],
    ],
    [
      'at its eta, having been delivered twice before',
      [
        ...[at(1, 'received', { worker: W1, retries: 0 }), at(6, 'received', { worker: W2, retries: 0 })],
        ...[at(10, 'started', { worker: W1 }), ended(10.1, W1), at(10.2, 'started', { worker: W2 })],
        ended(10.3, W2),
      ],
    ],
    ['of which one failed', [...begun(1, W1), ...begun(6, W2), ended(13, W1, 'failed'), ended(18, W2)]],
    [
      'in an attempt after a retry',
      [
        ...begun(1, W1),
        at(2, 'retried', { worker: W1 }),
        ...begun(3, W1, 1),
        ...begun(9, W2, 1),
        ended(13, W1),
        ended(18, W2),
      ],
    ],
    [
      'in an attempt after a retry, each attempt sent once',
      [
        ...[sent(0), ...begun(1, W1), at(2, 'retried', { worker: W1 }), sent(2.5, 1)],
        ...[...begun(3, W1, 1), ended(5, W1), ...begun(9, W1, 1), ended(13, W1)],
      ],
    ],
    [
      'and whose message the backend and its queue show, too',
      [
        ...[sent(0), { ...sent(0.2), origin: 'result' as const }, { ...sent(0.4), stored: true }],
        ...[...begun(1, W1), ended(13, W1), ...begun(14, W1), ended(26, W1)],
      ],
    ],
    [
      'on the same worker, which received it twice within a second',
      [...begun(1, W1), ...begun(1.5, W1), ended(13, W1), ended(18, W1)],
    ],
    [
      'on a worker that received it a second after another one',
      [...begun(1, W1), ...begun(2, W2), ended(5, W1), ended(6, W2)],
    ],
  ])('is one that ran %s', async (_, changes) => {
    expect((await taskOf(changes)).flags).toEqual(['ran_twice']);
  });

  it.each<[string, readonly TaskChange[]]>([
    ['was retried', [...begun(1, W1), at(2, 'retried', { worker: W1 }), ...begun(3, W2, 1), ended(9, W2)]],
    [
      'was retried, as a thread pool reports it',
      [...begun(1, W1), ...begun(3, W1, 1), ended(9, W1), at(9.5, 'retried', { worker: W1 })],
    ],
    ['was received twice and started once', [...begun(1, W1).slice(0, 1), ...begun(6, W2), ended(13, W2)]],
    [
      'was received again while it ran',
      [...begun(1, W1), at(6, 'received', { worker: W2, retries: 0 }), ended(9, W1)],
    ],
    ['was reported twice', [...begun(1, W1), ...begun(1, W1), ended(13, W1), ended(13, W1)]],
    ['was put back', [...begun(1, W1), ended(2, W1, 'requeued'), ...begun(3, W2), ended(9, W2)]],
    ['was lost with its worker and runs again', [...begun(1, W1), ...begun(60, W2), ended(70, W2)]],
    ['replaced itself and stored one result', [...begun(1, W1), ...begun(2, W1), stored(3), ended(5, W1)]],
    ['replaced itself', [...begun(1, W1), ...begun(2, W1), ended(3, W1)]],
    ['replaced itself on another worker', [...begun(1, W1), ...begun(2, W2), ended(3, W2)]],
    ['was sent twice', [sent(0), sent(5), ...begun(1, W1), ...begun(6, W2), ended(13, W1), ended(18, W2)]],
    ['was sent twice, without numbers', [at(0, 'sent'), at(5, 'sent'), ...AGAIN]],
    [
      'was sent again when it had ended, unreported',
      [...begun(1, W1), ended(2, W1), ...begun(60, W1), ended(61, W1)],
    ],
    [
      'sent itself again, unreported',
      [
        ...[...begun(1, W1), at(2, 'received', { worker: W2, retries: 0 }), ended(3, W1)],
        ...[at(8, 'started', { worker: W2 }), ended(9, W2)],
      ],
    ],
    ['was sent to several workers', [...begun(1, W1), ...begun(1.2, W2), ended(5, W1), ended(6, W2)]],
    [
      'was killed, which is reported twice',
      [...begun(1, W1), ...begun(2, W1), ended(9, W1, 'failed'), ended(9.01, W1, 'failed')],
    ],
    [
      'has no numbers of attempts',
      [...begun(1, W1, null), ...begun(6, W2, null), ended(13, W1), ended(18, W2)],
    ],
  ])('is none that %s', async (_, changes) => {
    for (const flags of (await tasksOf([changes, changes.toReversed()])).map((task) => task.flags)) {
      expect(flags).toEqual([]);
    }
  });

  it('is listed with its runs for an hour, and again by a restarted monitor', async () => {
    let now = T0 + 60_000;
    const history = historyOf(AGAIN, { now: () => now });
    const repeated = async () => (await history.reader.getActivity(CONTEXT)).repeated;
    const runs = [
      { worker: W1, startedAt: T0 + 1_100, endedAt: T0 + 13_000 },
      { worker: W2, startedAt: T0 + 6_100, endedAt: T0 + 18_000 },
    ];
    expect(await repeated()).toEqual([{ id: 'a', name: 'mail.send', runs }]);
    now += 3_600_000;
    expect(await repeated()).toEqual([]);
    history.close();
  });

  it('is not told where tasks start and no message tells the attempt', async () => {
    const [silent, quiet] = [historyOf(begun(1, W1, null)), historyOf([])];
    expect(await silent.reader.getActivity(CONTEXT)).not.toHaveProperty('repeated');
    expect((await quiet.reader.getActivity(CONTEXT)).repeated).toEqual([]);
  });
});
