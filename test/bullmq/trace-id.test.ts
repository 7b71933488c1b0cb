import { trace } from '@opentelemetry/api';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { BullMQOtel } from 'bullmq-otel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { detail } from '../helpers/bullmq-read.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';

const provider = new NodeTracerProvider();
const tracer = provider.getTracer('shop');

beforeAll(() => provider.register());
afterAll(async () => {
  trace.disable();
  await provider.shutdown();
});

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'the trace of a job of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
    });
    afterAll(() => app?.close());

    /** Adds a job while a span is open. */
    const addTraced = (queue: ReturnType<BullMQApp['queue']>, opts = {}) =>
      tracer.startActiveSpan('checkout', async (span) => {
        const { id } = await queue.add('mail', {}, opts);
        span.end();
        return { id: `${queue.name}:${id}`, traceId: span.spanContext().traceId };
      });

    it('is the one in which it was added, before it runs and after', async () => {
      const queue = app.queue('traced', { telemetry: new BullMQOtel({ tracerName: 'shop' }) });
      const sources = bullmqSources({ queues: [queue] });
      const { id, traceId } = await addTraced(queue);
      expect(await detail(sources, id)).toMatchObject({ state: 'PENDING', traceId });
      app.worker('traced', async () => 'sent', { telemetry: new BullMQOtel({ tracerName: 'shop' }) });
      await app.settled(queue, 1, 'completed');
      expect(await detail(sources, id)).toMatchObject({ state: 'SUCCESS', traceId });
      sources.close();
    });

    it('is null where the job names none, or one that is not valid', async () => {
      const queue = app.queue('untraced', { telemetry: new BullMQOtel({ tracerName: 'shop' }) });
      const plain = app.queue('plain');
      const sources = bullmqSources({ queues: [queue, plain] });
      const { id } = await addTraced(queue, { telemetry: { omitContext: true } });
      expect((await detail(sources, id))?.traceId).toBeNull();
      expect((await detail(sources, (await addTraced(plain)).id))?.traceId).toBeNull();
      for (const metadata of ['', '{', 'null', '{"traceparent":7}', '{"traceparent":"00-00-00-00"}']) {
        const { id: own } = await plain.add('mail', {}, { telemetry: { metadata } });
        expect(await detail(sources, `plain:${own}`)).toMatchObject({ state: 'PENDING', traceId: null });
      }
      sources.close();
    });
  },
);
