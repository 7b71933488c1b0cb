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

  /** What is served of a queue after three jobs, with a fourth that waits. */
  async function served(name: string): Promise<string> {
    const queue = app.queue(name);
    const sources = bullmqSources({ queues: [queue] });
    const { base } = await serve({ sources, metrics: true });
    app.worker(name, async () => {}, { name: 'ann' });
    await queue.addBulk(['send', 'send', 'sort'].map((job) => ({ name: job, data: {} })));
    await app.settled(queue, 3, 'completed');
    await queue.pause();
    await queue.add('send', {});
    let text = '';
    // Figures of workers and queues are shared for 5 s.
    await until(async () => {
      ({ text } = await ask(base, '/metrics'));
      const lines = text.split('\n');
      return figuresOf(name).every((line) => lines.includes(line));
    }, 60_000);
    return text;
  }

  it('are served with the figures of its queues and workers', async () => {
    expect(await served('mail')).toContain('bullmq_job_completed_total{queue="mail"} 3');
  });

  it.skipIf(!isInstalled('promtool'))(
    titleUnless(isInstalled('promtool') ? null : 'install prometheus', 'are written as promtool wants them'),
    async () => {
      const input = await served('image');
      const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
      // BullMQ's own name.
      const complaint =
        'bullmq_job_count non-histogram and non-summary metrics should not have "_count" suffix\n';
      expect([stdout, stderr]).toEqual(['', complaint]);
    },
  );
});

const figuresOf = (queue: string): readonly string[] => [
  `bullmq_job_count{queue="${queue}",state="waiting"} 1`,
  `bullmq_job_completed_total{queue="${queue}"} 3`,
  `bullmq_job_failed_total{queue="${queue}"} 0`,
  `bullmq_job_run_time_seconds_count{queue="${queue}",name="send"} 2`,
  `bullmq_job_run_time_seconds_count{queue="${queue}",name="sort"} 1`,
  `bullmq_job_wait_time_seconds_count{queue="${queue}",name="send"} 2`,
  `task_monitor_queue_length{source="bullmq",queue="${queue}"} 1`,
  'task_monitor_source_up{source="bullmq"} 1',
  'task_monitor_workers{source="bullmq",status="online"} 1',
];
