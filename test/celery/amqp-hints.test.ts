import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { type CelerySources, type CelerySourcesOptions, celerySources } from '../../src/celery.ts';
import { amqpPublisher } from '../helpers/amqp-events.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { type Rabbit, rabbitMissing, sharedRabbit } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';

// They mostly wait: a source looks elsewhere once it has heard nothing for ten seconds.
describe.skipIf(rabbitMissing !== null)(
  titleUnless(rabbitMissing, 'hints about RabbitMQ'),
  { concurrent: true },
  () => {
    let rabbit: Rabbit;

    beforeAll(async () => {
      rabbit = await sharedRabbit();
    });

    async function listen(
      { onTestFinished }: TestContext,
      virtualHost: string,
      options: Partial<CelerySourcesOptions> = {},
    ): Promise<CelerySources> {
      const sources = celerySources({ broker: rabbit.url(virtualHost), control: false, ...options });
      onTestFinished(() => sources.close());
      await until(() => sources.events.status?.().ok === true);
      return sources;
    }

    const hintsOf = async (sources: CelerySources): Promise<string> =>
      String((await componentOf(sources, 'broker')).config.hints);

    /** The hint, once it says that. */
    const untilHinted = (sources: CelerySources, text: string): Promise<void> =>
      until(async () => (await hintsOf(sources)).includes(text));

    it('name the virtual host where no worker has ever been, and another one where some were', async (test) => {
      const virtualHost = await rabbit.createVirtualHost();
      await (await amqpPublisher(rabbit.url('/'))).close();
      const sources = await listen(test, virtualHost);
      await untilHinted(sources, `'${virtualHost}'`);
      expect(await hintsOf(sources)).toContain("some have used '/'");
      expect(await hintsOf(sources)).toContain("broker: 'amqp://…/'");
    });

    it('name event_exchange where workers use the virtual host, but not this exchange', async (test) => {
      const virtualHost = await rabbit.createVirtualHost();
      const exchange = { type: 'fanout', durable: false };
      await rabbit.manage('PUT', `exchanges/${virtualHost}/shop.pidbox`, exchange);
      const settings = { control_exchange: 'shop', event_exchange: 'shopev' };
      await untilHinted(await listen(test, virtualHost, { settings }), "the exchange 'shopev'");
    });
  },
);
