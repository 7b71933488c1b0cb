import { connect } from 'amqplib';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, type CelerySourcesOptions, celerySources } from '../../src/celery.ts';
import { startTcpProxy } from '../faults/kit/tcp-proxy.ts';
import { amqpPublisher, receivedEvent } from '../helpers/amqp-events.ts';
import { checkBroker, componentOf, stateOf } from '../helpers/celery-events.ts';
import { type Rabbit, rabbitMissing, sharedRabbit } from '../helpers/rabbitmq.ts';
import { freePort, titleUnless, until } from '../helpers/redis-server.ts';
import { runScript } from '../helpers/run-script.ts';

describe.skipIf(rabbitMissing !== null)(titleUnless(rabbitMissing, 'clients of RabbitMQ'), () => {
  let rabbit: Rabbit;
  let virtualHost = '';

  beforeAll(async () => {
    rabbit = await sharedRabbit();
    virtualHost = await rabbit.createVirtualHost();
  });

  function open(options: CelerySourcesOptions): CelerySources {
    const sources = celerySources({ control: false, ...options });
    onTestFinished(() => sources.close());
    return sources;
  }

  const isUp = (sources: CelerySources) => (): boolean => sources.events.status?.().ok === true;

  async function expectEvents(sources: CelerySources, id: string): Promise<void> {
    await until(isUp(sources));
    const publisher = await amqpPublisher(rabbit.url(virtualHost));
    publisher.publish([receivedEvent(id)]);
    await until(async () => (await stateOf(sources, id)) !== null);
    await publisher.close();
  }

  it('may be a function of the host, which is called again after a loss, and whose connections are closed', async () => {
    const proxy = await startTcpProxy(rabbit.port);
    const url = rabbit.url(virtualHost).replace(`:${rabbit.port}/`, `:${proxy.port}/`);
    const sources = open({ broker: () => connect(url) });
    await expectEvents(sources, 'function-1');
    const before = proxy.opened();
    proxy.reset();
    await until(() => proxy.opened() > before);
    await expectEvents(sources, 'function-2');
    await sources.close();
    await until(() => proxy.open() === 0);
  });

  it('may be a connection of the host, which is never closed, and recovers by itself', async () => {
    const proxy = await startTcpProxy(rabbit.port);
    const url = rabbit.url(virtualHost).replace(`:${rabbit.port}/`, `:${proxy.port}/`);
    const host = await connect(url, { recovery: { initialDelay: 10 } });
    onTestFinished(() => host.close());
    host.on('error', () => {});
    const sources = open({ broker: host });
    await expectEvents(sources, 'lent-1');
    proxy.reset();
    await until(() => !isUp(sources)());
    await expectEvents(sources, 'lent-2');
    expect(await componentOf(sources, 'broker')).toMatchObject({ url: null, status: 'up' });
    await sources.close();
    await expect(host.createChannel()).resolves.toBeDefined();
    expect(host.listenerCount('error')).toBe(1);
    expect(await rabbit.queues(virtualHost)).toEqual([]);
  });

  it('that is a connection without recovery is missed after its end', async () => {
    const host = await connect(rabbit.url(virtualHost));
    host.on('error', () => {});
    const sources = open({ broker: host });
    await until(isUp(sources));
    await host.close();
    await until(async () => /recovery/.test(String((await componentOf(sources, 'broker')).config.error)));
  });

  it('speak TLS, and check the certificate', async () => {
    const url = rabbit
      .url(virtualHost)
      .replace('amqp:', 'amqps:')
      .replace(`:${rabbit.port}/`, `:${rabbit.tlsPort}/`);
    const trusting = open({ broker: url, settings: { broker_use_ssl: { ca_certs: rabbit.ca } } });
    const distrusting = open({ broker: url });
    const careless = open({ broker: url, settings: { broker_use_ssl: { cert_reqs: 0 } } });
    await expectEvents(trusting, 'tls');
    await until(isUp(careless));
    expect((await componentOf(trusting, 'broker')).url).toMatch(/^amqps:/);
    const failed = async (sources: CelerySources): Promise<unknown> =>
      (await componentOf(sources, 'broker')).config.error;
    await until(async () => (await failed(distrusting)) !== null);
    expect(await failed(distrusting)).toBe('The TLS certificate of RabbitMQ is not trusted.');
    const plain = open({ broker: url.replace(`:${rabbit.tlsPort}/`, `:${rabbit.port}/`) });
    await until(async () => (await failed(plain)) !== null);
    expect(await failed(plain)).toBe('This RabbitMQ does not speak TLS at that port.');
  });

  it('try the next host when one does not answer', async () => {
    const dead = await freePort();
    const sources = open({ broker: `amqp://127.0.0.1:${dead}/x;${rabbit.url(virtualHost)}` });
    await expectEvents(sources, 'second-host');
    expect((await componentOf(sources, 'broker')).url).toContain(`127.0.0.1:${rabbit.port}/${virtualHost}`);
  });

  it.each([
    [
      'a wrong password',
      (url: string) => url.replace('guest:guest', 'guest:hunter2'),
      /user name or password/,
    ],
    ['a missing virtual host', (url: string) => `${url}-missing`, /virtual host/],
    ['a port that nothing listens at', (url: string) => url.replace(/:\d+\//, ':1/'), /refuses connections/],
  ])('say what is wrong in a sentence without secrets: %s', async (_, change, sentence) => {
    const { error } = await checkBroker(open({ broker: change(rabbit.url(virtualHost)) }), 30_000);
    expect(error).toMatch(sentence);
    expect(error).not.toMatch(/hunter2|missing|127\.0/);
  });

  it('do not keep a process alive, whether RabbitMQ is there, is gone, or swallows everything', async () => {
    const proxy = await startTcpProxy(rabbit.port);
    proxy.set({ halfOpen: true });
    const hosts = [rabbit.port, await freePort(), proxy.port];
    const script = `import { celerySources } from './src/celery.ts';
      for (const port of ${JSON.stringify(hosts)}) celerySources({ broker: 'amqp://guest:guest@127.0.0.1:' + port });
      celerySources({ broker: 'amqps://guest:guest@127.0.0.1:${rabbit.tlsPort}', settings: { broker_use_ssl: { cert_reqs: 0 } } });
      setTimeout(() => { process.stdout.write('end'); globalThis.end = performance.now(); }, 500);
      process.on('exit', () => process.stdout.write(' ' + Math.round(performance.now() - globalThis.end)));`;
    const { code, stdout, stderr } = await runScript(script);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(Number(/^end (\d+)$/.exec(stdout)?.[1])).toBeLessThan(2_000);
  });

  it('are told to install amqplib where it is missing', async () => {
    const hook = `export const resolve = (name, context, next) => next(name === 'amqplib' ? 'no-such-amqplib' : name, context);`;
    const register = `import { register } from 'node:module';
      register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));`;
    const script = `import { celerySources } from './src/celery.ts';
      const sources = celerySources({ broker: 'amqp://127.0.0.1:1' });
      console.log((await sources.health.checkBroker({ signal: AbortSignal.timeout(5000) })).error);
      await sources.close();`;
    const { stdout } = await runScript(script, [
      '--import',
      `data:text/javascript,${encodeURIComponent(register)}`,
    ]);
    expect(stdout.trim()).toBe('The package amqplib is not installed: run npm install amqplib.');
  });

  it('take no answer within the deadline of a check for an outage', async () => {
    const proxy = await startTcpProxy(rabbit.port);
    const url = rabbit.url(virtualHost).replace(`:${rabbit.port}/`, `:${proxy.port}/`);
    const sources = open({ broker: url });
    await until(isUp(sources));
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
    proxy.set({ halfOpen: true });
    const asked = performance.now();
    expect(await checkBroker(sources, 300)).toEqual({ ok: false, error: 'RabbitMQ does not answer.' });
    expect(performance.now() - asked).toBeLessThan(3_000);
  });
});
