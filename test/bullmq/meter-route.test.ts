import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { ask } from '../helpers/ask.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../metrics/own-metrics-kit.ts';
import { isInstalled } from '../metrics/real-process.ts';

const [newest] = BULLMQ_VERSIONS;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'own metrics of BullMQ'), () => {
  let app: BullMQApp;

  beforeAll(async () => {
    app = await startBullMQ((newest as (typeof BULLMQ_VERSIONS)[number]).bullmq);
  });
  afterAll(() => app?.close());

  it('are served with the figures of its queues and workers', async () => {
    const queue = app.queue('mail');
    const sources = bullmqSources({ queues: [queue] });
    const { base } = await serve({ sources, metrics: { own: true } });
    app.worker('mail', async () => {}, { name: 'ann' });
    await queue.addBulk(['send', 'send', 'sort'].map((name) => ({ name, data: {} })));
    await app.settled(queue, 3, 'completed');
    await queue.pause();
    await queue.add('send', {});
    const lines = async (): Promise<readonly string[]> => (await ask(base, '/metrics')).text.split('\n');
    // Figures of workers and queues are shared for 5 s.
    await until(async () => {
      const text = await lines();
      return EXPECTED.every((line) => text.includes(line));
    });
    if (!isInstalled('promtool')) return;
    const input = (await ask(base, '/metrics')).text;
    const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
    // BullMQ's own name.
    const complaint =
      'bullmq_job_count non-histogram and non-summary metrics should not have "_count" suffix\n';
    expect([stdout, stderr]).toEqual(['', complaint]);
  });
});

const EXPECTED = [
  'bullmq_job_count{queue="mail",state="waiting"} 1',
  'bullmq_job_completed_total{queue="mail"} 3',
  'bullmq_job_failed_total{queue="mail"} 0',
  'bullmq_job_run_time_seconds_count{queue="mail",name="send"} 2',
  'bullmq_job_run_time_seconds_count{queue="mail",name="sort"} 1',
  'bullmq_job_wait_time_seconds_count{queue="mail",name="send"} 2',
  'task_monitor_queue_length{source="bullmq",queue="mail"} 1',
  'task_monitor_source_up{source="bullmq"} 1',
  'task_monitor_workers{source="bullmq",status="online"} 1',
];
