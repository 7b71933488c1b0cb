import { describe, expect, it, onTestFinished } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { createArrayMailbox } from './array-mailbox.ts';
import { answered, deployment, times } from './hints-deployment.ts';

describe('a hint about the workers', () => {
  it('says that tasks wait and no worker is there, until one is', async () => {
    const { beat, waits, waiting, pass, named, hints } = deployment();
    await waits(4, 'mail');
    // Somebody may paste the command into a shell.
    waiting.push({ queue: '; rm -r', raw: 'no task' });
    await pass(10);
    expect(await named()).toEqual([]);
    await pass(20);
    expect(await hints('collector')).toEqual([
      'Tasks wait in ; rm -r and mail, and no worker has reported for 30 s. Start one: ' +
        'celery -A <app> worker -E -Q mail',
    ]);
    beat(0);
    expect(await named()).toEqual([]);
    await pass(31);
    expect(await named()).toEqual(['celery -A <app> worker']);
    await waits(0);
    expect(await named()).toEqual([]);
  });

  it('says that a clock is off after three heartbeats, not after one that came late', async () => {
    const { beat, named, hints } = deployment();
    const hour = 3_600_000;
    beat(0, 'w1@alpha', -hour);
    beat(0, 'w1@alpha', -hour);
    expect(await named()).toEqual([]);
    beat(0, 'w1@alpha', -hour);
    expect(await hints('collector')).toEqual([
      expect.stringContaining("w1@alpha differs from this monitor's by 3600 s"),
    ]);
    beat(0);
    expect(await named()).toEqual([]);
  });

  it('says that events are no JSON, and not that broken ones are', async () => {
    const { broker, named } = deployment();
    times(3, () => broker.unreadable('application/json'));
    expect(await named()).toEqual([]);
    times(3, () => broker.unreadable('application/x-yaml'));
    expect(await named()).toEqual(["event_serializer = 'json'"]);
  });

  it('says that answers of workers are no JSON, until they are', async () => {
    const contentType = { now: 'application/x-yaml' };
    const mailbox = createArrayMailbox({
      'w1@alpha': ({ method }) => ({
        contentType: contentType.now,
        ...(contentType.now.endsWith('yaml')
          ? { body: Buffer.from('w1@alpha: {ok: pong}') }
          : { value: method === 'ping' ? { ok: 'pong' } : {} }),
      }),
    });
    const { sources, beat, pass, hints } = deployment({
      control: true,
      mailbox,
    });
    beat(0);
    const ask = () => answered(sources.workers.listWorkers(context));
    await ask();
    expect(await hints('collector')).toEqual([
      expect.stringMatching(/^Remote control replies of .*task_serializer = 'json'/),
    ]);
    contentType.now = 'application/json';
    await pass(120);
    beat(0);
    await ask();
    expect(await hints('collector')).toEqual([]);
  });
});

describe('hints', () => {
  it('are none for a deployment of which nothing has come yet', async () => {
    expect(await deployment().hints()).toEqual([]);
  });

  it('say what a broker costs that cannot be read', async () => {
    const sources = celerySources({ broker: 'sqs://user:SECRET@', backend: 'redis://127.0.0.1:1/1' });
    onTestFinished(() => sources.close());
    const { hints } = (await componentOf(sources, 'broker')).config;
    expect(hints).toEqual([expect.stringMatching(/^The broker is sqs, which this monitor cannot read/)]);
    expect(String(hints)).not.toContain('SECRET');
  });

  it('hold nothing that breaks a line, whatever workers are called', async () => {
    const { beat, event, pass, hints } = deployment();
    const name = `${'x'.repeat(300)}\n\u202e\ud800`;
    beat(0, name);
    beat(2, name);
    beat(0, 'y'.repeat(100_000));
    event('started', { uuid: 'z'.repeat(100_000) });
    await pass(6);
    const text = JSON.stringify(await hints());
    expect(text).toContain('worker_send_task_events = True');
    expect(text.length).toBeLessThan(2000);
    expect(text).not.toMatch(/\\n|\u202e|\\ud800/);
  });
});
