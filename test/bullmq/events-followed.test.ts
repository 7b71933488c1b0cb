import type { Queue } from 'bullmq';
import { type Command, Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { Meter, MetricHistogram } from '../../src/source.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context } from '../helpers/bullmq-read.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { openMeter } from '../helpers/meters.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

const BULLMQ = BULLMQ_VERSIONS[0]?.bullmq as (typeof BULLMQ_VERSIONS)[0]['bullmq'];
const OPTIONS = { hostname: false, mostSeries: 10_000 };
const RUNS = 'bullmq_job_run_time_seconds';
/** Of an entry that is too large to be read again. */
const LARGE = 'x'.repeat(100_000);

/** Notes the ids of entries that are read over this client behind the one at which the read begins. */
function noteEntries(client: Redis, noted: string[]): void {
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command: Command, ...rest) => {
    if (command.name === 'xrange') {
      const [, start, end] = command.args.map(String);
      command.promise.then(
        (reply: unknown) => {
          const ids = Array.isArray(reply) ? reply.map((entry) => String(entry?.[0])) : [];
          noted.push(...ids.filter((id) => id !== start || id === end));
        },
        () => {},
      );
    }
    return send(command, ...rest);
  };
}

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'the event streams'), () => {
  let app: BullMQApp;
  let queue: Queue;
  let client: Redis;
  let sources: BullMQSources;
  let meter: Meter;
  let noted: string[];

  beforeEach(async () => {
    app = await startBullMQ(BULLMQ);
    queue = app.queue('mail');
    await queue.waitUntilReady();
    client = new Redis(app.redis.port, '127.0.0.1');
    noted = [];
    noteEntries(client, noted);
    sources = bullmqSources({ connection: client, store: createArrayStore() });
    meter = openMeter(sources, OPTIONS);
  });

  afterEach(async () => {
    meter?.close();
    await sources?.close();
    client?.disconnect();
    await app?.close();
  });

  async function counted(): Promise<number> {
    const runs = (await meter.collect(context)).find(({ name }) => name === RUNS);
    return ([...(runs?.samples ?? [])] as MetricHistogram[]).reduce((sum, { count }) => sum + count, 0);
  }
  const recorded = async (): Promise<number> => (await sources.history?.getHistoryStats(context))?.tasks ?? 0;

  it.each([
    ['short', ''],
    ['large', LARGE],
  ])('are read once for the meter and the recorder, with %s results', async (_, result) => {
    app.worker('mail', async () => result);
    for (let n = 1; n <= 6; n += 1) {
      await queue.add('send', {}, { removeOnComplete: true });
      await until(async () => (await counted()) === n && (await recorded()) === n, 60_000);
    }
    // While one of them takes longer, it is read for separately.
    expect(noted.length).toBeLessThan(1.5 * new Set(noted).size);
  });

  it('are read on while another server is away', async () => {
    const other = await startBullMQ(BULLMQ);
    try {
      meter.close();
      await sources.close();
      const away = other.queue('away');
      await away.waitUntilReady();
      sources = bullmqSources({ queues: [queue, away], store: createArrayStore() });
      meter = openMeter(sources, OPTIONS);
      for (const [n, on, name] of [
        [1, app, queue],
        [2, other, away],
      ] as const) {
        on.worker(name.name, async () => null);
        await name.add('send', {});
        await until(async () => (await counted()) === n && (await recorded()) === n, 60_000);
      }
      await other.redis.kill();
      await queue.add('send', {});
      await until(async () => (await counted()) === 3 && (await recorded()) === 3, 60_000);
      await other.redis.start();
    } finally {
      await other.close();
    }
  }, 60_000);
});
