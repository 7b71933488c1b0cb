import { describe, expect, it } from 'vitest';
import type { SchedulesBody, TaskDetailBody, TasksBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { ALL_WELL, askAll, launchExample, statuses, waitFor } from './example-process.ts';
import { accepts, namesInGraph, portsOf, untilHealthy, untilSucceeded } from './example-services.ts';

describe('examples/bullmq', () => {
  it.skipIf(redisMissing !== null)(
    titleUnless(redisMissing, 'answers all its routes about real workers, and ends what it started'),
    async () => {
      const example = await launchExample('bullmq');
      const { base } = example;
      const order = await untilSucceeded(example, 'complete-order');
      await untilHealthy(example);
      expect(statuses(await askAll(base))).toEqual({ ...ALL_WELL, '/metrics': 404 });

      expect(await namesInGraph(example, order)).toEqual([
        'charge',
        'complete-order',
        'render-invoice',
        'send-mail',
      ]);
      const charges = await ask<TasksBody>(base, '/api/tasks/?name=charge');
      expect(charges.text).toContain('cardToken');
      expect(charges.text).not.toContain('tok_');

      const { body: rendered } = await ask<TasksBody>(
        base,
        '/api/tasks/?name=render-invoice&state=SUCCESS&limit=1',
      );
      const invoice = rendered.tasks[0]?.task_id ?? '';
      // The list may be ahead of the events, until which an answer that was given before is given again.
      const { body: job } = await waitFor(
        () => ask<TaskDetailBody>(base, `/api/tasks/${encodeURIComponent(invoice)}/`),
        ({ body }) => body.state === 'SUCCESS',
      );
      expect(job.progress).toMatchObject({ current: 3, total: 3, percent: 100, text: 'page 3' });
      expect(job.log).toEqual({
        lines: ['rendered page 1', 'rendered page 2', 'rendered page 3'],
        total: 3,
      });
      expect(job.attempts).toMatchObject([{ number: 1, error: null }]);
      expect(job.options).toContain('failParentOnFailure');
      expect(job.children).toHaveLength(1);
      expect(job.parent_id).toMatch(/^orders:/);
      const { body: beat } = await waitFor(
        () => ask<SchedulesBody>(base, '/api/beat/schedules/'),
        ({ body }) => body.schedules.some(({ last_run_at }) => last_run_at !== null),
        60_000,
      );
      expect(beat.schedules.map(({ name, schedule }) => [name, schedule])).toEqual([
        ['remove-leftovers', '*/30 * * * * *'],
        ['sync-stock', 'every 10 s'],
        ['weekly-report', '0 7 * * 1'],
      ]);

      const [redis = 0] = portsOf(example);
      expect(await accepts(redis)).toBe(true);
      expect(await example.end('SIGINT')).toEqual({ code: 0, stderr: '' });
      expect(await accepts(redis)).toBe(false);
    },
    180_000,
  );
});
