import { describe, expect, it } from 'vitest';
import { crewsOf, type WaitingSituation } from '../../src/answers/crews.ts';
import { blockedBy } from '../../src/answers/queue-causes.ts';
import { type AskedTask, waitingFor } from '../../src/answers/waiting-for.ts';
import type { JudgedQueue, JudgedWorker } from '../../src/findings/finding.ts';
import { activity, ago, NOW, queue, runs, worker } from '../findings/situations.ts';

const iso = (time: number): string => new Date(time).toISOString();

/** A task that was sent to the queue `mail` a minute ago. */
function task(fields: Partial<AskedTask['body']> = {}, more: Partial<AskedTask> = {}): AskedTask {
  const unknown = { engine_state: null, worker: null, received: null, timestamp: null, eta: null };
  const body = {
    ...unknown,
    state: 'PENDING',
    name: 'send',
    queue: 'mail',
    sent: iso(ago(1)),
    retries: null,
  };
  return {
    body: { ...body, flags: [], ...fields } as AskedTask['body'],
    ahead: null,
    waitsFor: null,
    ...more,
  };
}

const mail = (fields: Partial<JudgedQueue> = {}): JudgedQueue => ({
  ...queue('mail', 3, 1),
  consumers: 1,
  ...fields,
});
const ann = (fields: Partial<JudgedWorker> = {}): JudgedWorker => ({
  ...worker('ann', { concurrency: 1, queues: ['mail'] }),
  ...fields,
});

/** The worker `ann` runs a task since five minutes ago. */
const busy = async (): Promise<WaitingSituation> => ({
  activity: await activity({
    tasks: [
      ...runs('send', 40, 10, { perMinute: 2, seconds: 20 }),
      { id: 'r', type: 'received', name: 'send', worker: 'ann', time: ago(5) },
      { id: 'r', type: 'started', name: 'send', worker: 'ann', time: ago(5) },
    ],
    workers: [{ hostname: 'ann', type: 'heartbeat', time: NOW - 1_000 }],
  }),
  workers: [ann()],
  queues: [mail()],
});

const nothing: WaitingSituation = { activity: undefined, workers: undefined, queues: undefined };
const why = (asked: AskedTask, situation: WaitingSituation = nothing) => waitingFor(asked, situation, NOW);

describe('why a task waits', () => {
  it.each(['STARTED', 'SUCCESS', 'FAILURE', 'REVOKED', 'SENDING'])(
    'is nothing for one that is %s',
    (state) => {
      expect(why(task({ state }))).toBeNull();
    },
  );

  it('is nothing for one whose end was not seen', () => {
    expect(why(task({ state: 'RECEIVED', flags: ['end_unseen'] }))).toBeNull();
  });

  it('is what concerns the task itself before what holds up others, too', async () => {
    const situation = { ...(await busy()), queues: [mail({ paused: true })] };
    const eta = iso(NOW + 600_000);
    const waitsFor = { relation: 'children', done: 1, total: 2 } as const;
    const flags = ['never_received' as const];
    expect(why(task({ eta, flags }, { waitsFor }), situation)?.code).toBe('missing');
    expect(why(task({ eta }, { waitsFor }), situation)?.code).toBe('children');
    expect(why(task({ eta }), situation)?.code).toBe('eta');
    expect(why(task({ eta, retries: 1 }), situation)?.code).toBe('retry_delay');
    expect(why(task(), situation)?.code).toBe('queue_paused');
  });

  it('is the header of a chord until its last task is done', () => {
    const chord = (done: number) => ({ waitsFor: { relation: 'chord', done, total: 5 } as const });
    expect(why(task({}, chord(3)))).toMatchObject({
      code: 'chord_header',
      summary: 'Waits for the header of its chord: 3 of 5 done.',
      evidence: { done: 3, total: 5 },
    });
    expect(why(task({}, chord(5)))?.code).toBe('unknown');
  });

  it('names the day of another day', () => {
    const eta = Date.UTC(2026, 10, 23, 14, 2, 10);
    expect(why(task({ eta: iso(eta) }))).toMatchObject({
      summary: 'Starts at 2026-11-23 14:02:10 UTC at the earliest.',
      until: eta,
      since: ago(1),
    });
    expect(why(task({ state: 'RETRY', eta: iso(NOW + 90_000) }))?.summary).toBe('Retries at 12:02:00 UTC.');
  });

  it('is how many are in front, and how long that takes', async () => {
    const situation = await busy();
    expect(why(task({}, { ahead: 2 }), situation)).toMatchObject({
      code: 'workers_busy',
      summary: expect.stringMatching(/^Behind 2 tasks; the only slot is busy, about 1 min\.$/),
      evidence: { queue: 'mail', slots: 1, ahead: 2, ahead_is_limit: false },
    });
    // Without its position, all others that wait may be in front.
    expect(why(task(), situation)?.summary).toMatch(/^Behind up to 2 tasks; /);
    expect(why(task({}, { ahead: 0 }), situation)?.summary).toMatch(/^The only slot is busy, about /);
  });

  it('is the task that a worker runs first, or else the rate limit of its name', async () => {
    const taken = task({ state: 'RECEIVED', worker: 'ann', received: iso(ago(0.5)) });
    const situation = await busy();
    expect(why(taken, situation)).toMatchObject({
      code: 'reserved',
      summary: 'Reserved by ann, where a task send runs, for 5 min.',
      since: ago(0.5),
    });
    const limited = ann({ concurrency: 2, rateLimits: { send: '10/m' } });
    expect(why(taken, { ...situation, workers: [limited] })).toMatchObject({
      code: 'rate_limit',
      summary: 'ann starts at most 10/m of send.',
    });
    expect(why(task(), { ...situation, workers: [limited] })?.code).toBe('rate_limit');
    const free = why(taken, { ...situation, workers: [ann({ concurrency: 2 })] });
    expect(free).toMatchObject({ code: 'unknown', summary: expect.stringContaining('a free slot') });
    const lost = task({ ...taken.body, flags: ['worker_lost'] });
    expect(why(lost, situation)).toMatchObject({
      code: 'unknown',
      summary: expect.stringContaining('no longer'),
    });
  });

  it.each([
    ['The source reports neither queues nor workers.', { queue: null }, nothing],
    ['The queues could not be read in time.', {}, { ...nothing, queues: null }],
    ['The workers could not be read in time.', {}, { ...nothing, queues: [mail()], workers: null }],
    ['What runs could not be read in time.', {}, { activity: null, queues: [mail()], workers: [ann()] }],
    [
      'It is unknown which workers consume from mail.',
      {},
      { ...nothing, queues: [mail({ consumers: null })], workers: [] },
    ],
    ['The source does not report what runs.', {}, { ...nothing, queues: [mail()], workers: [ann()] }],
    ['Its queue is unknown.', { queue: null }, { ...nothing, queues: [mail()] }],
    [
      'Queue mail is empty: a worker is taking the task, or its message is gone.',
      {},
      { ...nothing, queues: [mail({ waiting: 0 })] },
    ],
    ['When it is retried is unknown.', { state: 'RETRY', queue: null }, { ...nothing, queues: [] }],
  ] as const)('is unknown, and says what is lacking: %s', (summary, fields, situation) => {
    expect(why(task(fields), situation as WaitingSituation)).toMatchObject({ code: 'unknown', summary });
  });

  it('is unknown if workers send no events', async () => {
    const situation = await busy();
    const blind = { ...situation.activity, blind: 'Workers send no events.' } as WaitingSituation['activity'];
    const summary = 'Workers send no events.';
    expect(why(task(), { ...situation, activity: blind })).toMatchObject({ code: 'unknown', summary });
  });
});

describe('why the tasks of a queue wait', () => {
  const answer = (fields: Partial<JudgedQueue>, situation: WaitingSituation = nothing) => {
    const all = { ...situation, queues: [mail(fields)] };
    return blockedBy(crewsOf(all, NOW).crewOf('mail'), all, NOW);
  };

  it('is nothing if none waits', () => {
    expect(answer({ waiting: 0, paused: true, consumers: 0 })).toBeNull();
  });

  it('is what stops all tasks before what slows them down', async () => {
    const until = NOW + 12_000;
    const limits = {
      limiter: { taken: 5, most: 5, until: new Date(until) },
      concurrencyLimit: 1,
      reserved: 1,
    };
    const situation = await busy();
    expect(answer({ ...limits, paused: true, consumers: 0 }, situation)?.code).toBe('queue_paused');
    expect(answer({ ...limits, consumers: 0 }, situation)).toMatchObject({
      code: 'no_consumer',
      since: ago(1),
    });
    expect(answer(limits, situation)).toMatchObject({
      code: 'rate_limit',
      summary: 'The rate limit of queue mail is reached; the next is handed out in 12 s.',
      until,
    });
    expect(
      answer({ ...limits, limiter: { taken: 4, most: 5, until: new Date(until) } }, situation)?.code,
    ).toBe('concurrency_limit');
    expect(answer({ limiter: { taken: 5, most: 5, until: new Date(NOW - 1) } }, situation)?.code).toBe(
      'workers_busy',
    );
    expect(answer({}, situation)?.summary).toBe('The only slot is busy.');
  });

  it('is that no online worker consumes from it, where the queue itself does not say', () => {
    const offline = ann({ status: 'offline' });
    expect(answer({ consumers: null }, { ...nothing, workers: [offline] })?.code).toBe('no_consumer');
    expect(answer({ consumers: null }, { ...nothing, workers: [ann()] })?.code).toBe('unknown');
    expect(answer({ consumers: null }, { ...nothing, workers: [ann({ queues: null })] })?.code).toBe(
      'unknown',
    );
  });
});
