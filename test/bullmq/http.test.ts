import type { Queue } from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { GraphBody, RelationsBody, TaskDetailBody, TasksBody } from '../../src/wire.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { type Host, serve } from '../router/host-kit.ts';

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'the routes over $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let queue: Queue;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
      queue = app.queue('mail & more/é%');
      app.worker(queue.name, async (job) => {
        if (job.name === 'fail') throw new Error('no way to redis://user:canary-4@host');
        return { token: 'canary-1', ok: true };
      });
      await queue.add('send', { password: 'canary-2', to: 'ann' }, { jobId: 'a b/c?d#e&f=g%20ü:x:y' });
      await queue.add('fail', { to: 'bob', api_key: 'canary-3' });
      await queue.add('send', { password: 'canary-5', filler: 'z'.repeat(5_000_000), secret: 'canary-6' });
      await app.settled(queue, 3, 'completed', 'failed');
    });

    afterAll(() => app?.close());

    it('find jobs by any id that BullMQ accepts', async () => {
      const other = app.queue('ids');
      const ids = [
        'a\tb',
        'a\r\nb',
        '\u0000',
        'a\u0000',
        '\u007f\u0085',
        '\u2028',
        '../..',
        '%09',
        '💣',
        '"<b>',
      ];
      for (const id of ids) await other.add('send', {}, { jobId: id });
      const { get } = await serve(EXPRESS, {
        sources: bullmqSources({ queues: [other] }),
      });
      const { body } = await get<TasksBody>('/api/tasks/');
      expect(body.tasks.map(({ task_id }) => task_id).toSorted()).toEqual(
        ids.map((id) => `ids:${id}`).toSorted(),
      );
      for (const { task_id: id } of body.tasks) {
        const path = `/api/tasks/${encodeURIComponent(id)}/`;
        expect((await get<TaskDetailBody>(path)).body.task_id).toBe(id);
        expect((await get<GraphBody>(`${path}graph/`)).body.nodes.map((node) => node.id)).toEqual([id]);
      }
      await other.obliterate({ force: true });
    });

    const host = (): Promise<Host> => serve(EXPRESS, { sources: bullmqSources({ queues: [queue] }) });

    it('list jobs whose ids survive the way through the URL, and lead to the job', async () => {
      const { get } = await host();
      const { body } = await get<TasksBody>('/api/tasks/');
      expect(body.tasks.length).toBe(3);
      for (const { task_id: id, ...row } of body.tasks) {
        const path = `/api/tasks/${encodeURIComponent(id)}/`;
        const own = await get<TaskDetailBody>(path);
        expect(own.body).toMatchObject({
          task_id: id,
          state: row.state,
          name: row.name,
          queue: queue.name,
          source: 'bullmq',
        });
        expect((await get<RelationsBody>(`${path}relations/`)).body).toMatchObject({
          task_id: id,
          root_id: id,
          relations: [],
        });
        expect((await get<GraphBody>(`${path}graph/`)).body.nodes.map((node) => node.id)).toEqual([id]);
      }
      expect(body.tasks.map(({ task_id }) => task_id)).toContain(`${queue.name}:a b/c?d#e&f=g%20ü:x:y`);
      expect((await get('/api/tasks/mail%3A1/')).status).toBe(404);
    });

    it('name the engine and its word for a state, and find jobs by it', async () => {
      const { get } = await host();
      const { body } = await get<TasksBody>('/api/tasks/?engine_state=failed');
      expect(body.sources).toMatchObject([{ name: 'bullmq', engine: 'bullmq', ok: true }]);
      expect(body.tasks).toMatchObject([{ state: 'FAILURE', engine_state: 'failed', name: 'fail' }]);
      const next = (await get<TasksBody>('/api/tasks/?engine_state=completed&limit=1')).body.next_cursor;
      expect((await get(`/api/tasks/?engine_state=completed&limit=1&cursor=${next}`)).status).toBe(200);
      expect((await get(`/api/tasks/?limit=1&cursor=${next}`)).status).toBe(400);
    });

    it('show no secret of job data, results and reasons, and cut what is long', async () => {
      const { get } = await host();
      const list = await get<TasksBody>('/api/tasks/?stats=60');
      const texts = [list.text];
      for (const { task_id: id } of list.body.tasks) {
        for (const part of ['', 'graph/'])
          texts.push((await get(`/api/tasks/${encodeURIComponent(id)}/${part}`)).text);
      }
      expect(texts.join('')).toContain('ann');
      for (const text of texts) {
        expect(text).not.toContain('canary');
        expect(text.length).toBeLessThan(200_000);
      }
      const large = list.body.tasks.find((task) => task.args?.includes('zzz'));
      expect(large?.truncated).toEqual(['args']);
      expect(large?.args?.length).toBeLessThanOrEqual(256);
    });

    it('answer 503 when Redis has never been there, and old data when it is gone', async () => {
      const none = await serve(EXPRESS, {
        sources: bullmqSources({ connection: 'redis://127.0.0.1:1' }),
      });
      expect((await none.get('/api/tasks/')).status).toBe(503);
      const { get } = await host();
      const before = await get<TasksBody>('/api/tasks/');
      await app.redis.kill();
      const after = await get<TasksBody>('/api/tasks/');
      expect(after.status).toBe(200);
      await until(async () => (await get<TasksBody>('/api/tasks/')).body.sources[0]?.ok === false);
      const old = (await get<TasksBody>('/api/tasks/')).body;
      expect(old.tasks).toEqual(before.body.tasks);
      expect(old.sources[0]).toMatchObject({ name: 'bullmq', ok: false, error: 'source_unavailable' });
      expect((await get('/api/tasks/mail%3A1/')).status).toBe(503);
      await app.redis.start();
      await until(async () => (await get<TasksBody>('/api/tasks/')).body.sources[0]?.ok === true);
    });
  },
);
