/**
 * What workers of Celery's next release report, made by hand from its sources (celery/worker/request.py, `on_failure` and
 * `on_timeout`, on its main branch in 2026): a task that rejects its message for good fails, and so does one that exceeds its
 * hard time limit, by an event and a stored result. Earlier releases send neither.
 */
import { describe, expect, it } from 'vitest';
import { openArrayDeployment } from './array-deployment.ts';

const START = Date.parse('2026-11-21T02:00:00Z') / 1_000;
const EXCEPTION = "Reject('no such order', requeue=False)";

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

function event(type: string, seconds: number, fields: object = {}): Event {
  return {
    ...{ type: `task-${type}`, uuid: 'a', hostname: 'w1@a', timestamp: START + seconds },
    ...{ pid: 7, clock: seconds + 1, utcoffset: 0, ...fields },
  };
}

const RECEIVED = event('received', 0, { name: 'shop.pay', retries: 0 });
const STARTED = event('started', 1);

type Report = Event | 'result';

/** Every order of these. */
function* orders(left: readonly Report[]): Generator<Report[]> {
  if (left.length === 0) yield [];
  for (const [at, one] of left.entries()) {
    for (const rest of orders(left.toSpliced(at, 1))) yield [one, ...rest];
  }
}

const FAILED = {
  ...{ task_id: 'a', name: 'shop.pay', status: 'FAILURE', date_done: '2026-11-21T02:00:02' },
  result: { exc_type: 'X', exc_message: ['x'] },
};

/** A deployment in which a task has started, and these were told of it. */
function toldOf(reports: readonly Report[]) {
  const deployment = openArrayDeployment({ control: false });
  deployment.hear(RECEIVED, STARTED);
  for (const one of reports) {
    if (one === 'result') deployment.publish('a', FAILED);
    else deployment.hear(one);
  }
  return deployment;
}

describe("Celery's next release, by its sources", () => {
  it.each([
    [
      'rejects its message',
      [
        event('failed', 2, { exception: EXCEPTION, traceback: 'T' }),
        event('rejected', 2, { requeue: false }),
      ],
    ],
    [
      'rejects its message, which was acknowledged early',
      [event('failed', 2, { exception: EXCEPTION, traceback: 'T' })],
    ],
    [
      'exceeds its hard time limit',
      [event('failed', 2, { exception: 'TimeLimitExceeded(30)', traceback: 'T' })],
    ],
  ])('a task that %s fails, in whatever order that arrives', async (_, ends) => {
    for (const order of orders([...ends, 'result'])) {
      const task = await toldOf(order).task('a');
      expect(task).toMatchObject({ state: 'FAILURE', worker: 'w1@a', retries: 0 });
      expect(task?.attempts).toHaveLength(1);
    }
  });

  it('a task that exceeds its hard time limit and is put back runs again', async () => {
    const failed = event('failed', 2, { exception: 'TimeLimitExceeded(30)', traceback: 'T' });
    const putBack = event('rejected', 2, { requeue: true });
    const again = [event('received', 3, { name: 'shop.pay', retries: 0 }), event('started', 4)];
    const { hear, task } = toldOf([failed, putBack, 'result', ...again]);
    expect(await task('a')).toMatchObject({ state: 'STARTED' });
    hear(event('succeeded', 5, { runtime: 1, result: '1' }));
    expect(await task('a')).toMatchObject({ state: 'SUCCESS', exception: null });
  });
});
