/**
 * RabbitMQ as it ships from 4.3 on, and workers with Celery's own settings: it refuses their queues for events and remote
 * control. Debian's package of RabbitMQ permits them, and earlier versions do by default.
 */
import { expect, it, onTestFinished } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { rabbitMissing, startRabbit } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';

const missing = rabbitMissing ?? celeryMissing;
const PERMIT = 'deprecated_features.permit.transient_nonexcl_queues';

it.skipIf(missing !== null)(
  titleUnless(missing, 'a hint names the settings of workers that RabbitMQ 4.3 refuses, until they are set'),
  async () => {
    const rabbit = await startRabbit({ config: [`${PERMIT} = false`] });
    onTestFinished(() => rabbit.close());
    const { rabbitmq_version: version } = await rabbit.manage<{ rabbitmq_version: string }>(
      'GET',
      'overview',
    );
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const isNamed = major > 4 || (major === 4 && minor >= 3);
    const sources = celerySources({ broker: rabbit.url() });
    onTestFinished(() => sources.close());
    await until(() => sources.events.status?.().ok === true);
    const hintsNow = async () => (await componentOf(sources, 'broker')).config.hints as string[];

    const refused = celeryApp({ broker_url: rabbit.url(), task_ignore_result: true });
    onTestFinished(() => refused.close());
    const arguments_ = ['worker', '--loglevel', 'INFO', '-c', '1', '-E'];
    const worker = await refused.process('541', ...arguments_, '-n', 'refused@a');
    if (!isNamed) {
      expect(await hintsNow()).toEqual([]);
      return;
    }
    await until(async () => String(await hintsNow()).includes('control_queue_exclusive = True'), 120_000);
    expect((await hintsNow())[0]).toContain(`RabbitMQ ${version} refuses the queues`);
    await worker.kill();

    const own = { control_queue_exclusive: true, event_queue_exclusive: true };
    const accepted = celeryApp({ broker_url: rabbit.url(), task_ignore_result: true, ...own });
    onTestFinished(() => accepted.close());
    await accepted.worker('-n', 'accepted@b', '-c', '1');
    await until(async () => {
      const workers = await sources.workers.listWorkers(context);
      return workers.some(({ hostname, status }) => hostname === 'accepted@b' && status === 'online');
    });
    await until(async () => (await hintsNow()).length === 0, 120_000);
  },
  240_000,
);
