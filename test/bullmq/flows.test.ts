import type { FlowJob, Job, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { TaskQuery } from '../../src/source.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { detail, page, tree } from '../helpers/bullmq-read.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';

const TOKEN = 'token';

describe.skipIf(redisMissing !== null).each(BULLMQ_VERSIONS)(
  titleUnless(redisMissing, 'flows of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let redis: Redis;
    let sources: BullMQSources;
    let queues: Record<'album' | 'page' | 'print', Queue>;
    let workers: Record<'album' | 'page' | 'print', Worker>;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
      redis = new Redis(app.redis.port, '127.0.0.1');
      queues = { album: app.queue('album'), page: app.queue('page'), print: app.queue('print') };
      const worker = (name: string): Worker => app.worker(name, async () => {}, { autorun: false });
      workers = { album: worker('album'), page: worker('page'), print: worker('print') };
      sources = bullmqSources({ queues: Object.values(queues) });
    });

    afterAll(async () => {
      sources?.close();
      redis?.disconnect();
      await app?.close();
    });

    const take = async (worker: Worker): Promise<Job> => (await worker.getNextJob(TOKEN)) as Job;

    /** print ← album ← pages 1 to 4 */
    async function addFlow(
      opts: FlowJob['opts'] = {},
    ): Promise<{ print: string; album: string; pages: string[] }> {
      const children = [1, 2, 3, 4].map((n) => ({ name: `page-${n}`, queueName: 'page', data: { n }, opts }));
      const flow = await app.flow().add({
        name: 'print',
        queueName: 'print',
        children: [{ name: 'album', queueName: 'album', children }],
      });
      const album = flow.children?.[0];
      return {
        print: `print:${flow.job.id}`,
        album: `album:${album?.job.id}`,
        pages: (album?.children ?? []).map(({ job }) => `page:${job.id}`),
      };
    }

    async function drain(): Promise<void> {
      await redis.flushall();
    }

    it('have callers, which are the parents that wait for them, and callees', async () => {
      await drain();
      await addFlow();
      const read = (filter: Partial<TaskQuery>) =>
        sources.tasks.getTaskStats?.(
          { minutes: 60, now: new Date(Date.now() + 1_000), callers: true, filter: queryOf(filter) },
          { signal: new AbortController().signal },
        );
      expect(await read({ names: ['album'] })).toMatchObject({
        callers: [{ name: 'print', count: 1 }],
        callees: [1, 2, 3, 4].map((n) => ({ name: `page-${n}`, count: 1 })),
      });
      // The parent is in another queue, and not all children are read.
      expect(await read({ names: ['album'], queues: ['album'] })).toMatchObject({
        callers: [{ name: 'print', count: 1 }],
        callees: null,
      });
    });

    it('are read from any of their jobs, across queues, nearest relatives first', async () => {
      const { print, album, pages } = await addFlow();
      const all = [print, album, ...pages].toSorted();
      for (const id of all) {
        const found = await tree(sources, id);
        expect(found?.rootId).toBe(print);
        expect(found?.truncated).toBe(false);
        expect(found?.tasks.map((task) => task.id).toSorted()).toEqual(all);
        expect(found?.tasks[0]?.id).toBe(id);
        for (const task of found?.tasks ?? []) {
          expect(task.rootId).toBe(print);
          expect(task.parentId).toBe(task.id === print ? null : task.id === album ? print : album);
        }
      }
      expect((await tree(sources, pages[0] as string))?.tasks[1]?.id).toBe(album);
      expect((await detail(sources, album))?.children).toEqual(pages.toSorted());
      await drain();
    });

    it('keep children that ended, failed, were ignored, or made their parent fail', async () => {
      const { album, pages } = await addFlow();
      await (await take(workers.page)).moveToCompleted('x'.repeat(50_000), TOKEN, false);
      await (await take(workers.page)).moveToFailed(new Error('torn'), TOKEN, false);
      expect((await detail(sources, album))?.children).toEqual(pages.toSorted());
      await drain();
      for (const opts of [
        { ignoreDependencyOnFailure: true },
        { failParentOnFailure: true },
        { continueParentOnFailure: true },
      ]) {
        const flow = await addFlow(opts);
        await (await take(workers.page)).moveToFailed(new Error('torn'), TOKEN, false);
        const found = await tree(sources, flow.album);
        expect([opts, found?.tasks.map((task) => task.id).toSorted()]).toEqual([
          opts,
          [flow.print, flow.album, ...flow.pages].toSorted(),
        ]);
        await drain();
      }
    });

    it('name children that are gone by reference', async () => {
      const { print, album, pages } = await addFlow();
      const job = await take(workers.page);
      await job.moveToCompleted('done', TOKEN, false);
      await queues.page.clean(0, 100, 'completed');
      const gone = `page:${job.id}`;
      expect(await detail(sources, gone)).toBeNull();
      const found = await tree(sources, print);
      expect(found?.tasks.map((task) => task.id)).not.toContain(gone);
      expect(found?.relations).toContainEqual({ parent: gone, child: album, relation: 'flow' });
      expect((await detail(sources, album))?.children).toEqual(pages.toSorted());
      await drain();
    });

    it('are lists by root and by parent', async () => {
      const [one, two] = [await addFlow(), await addFlow()];
      expect((await page(sources, { rootId: one.print })).tasks.map(({ id }) => id).toSorted()).toEqual(
        [one.print, one.album, ...one.pages].toSorted(),
      );
      const children = await page(sources, { parentId: two.album, limit: 3 });
      expect(children.total).toBe(4);
      const others = await page(sources, { parentId: two.album, limit: 3, after: children.next });
      expect([...children.tasks, ...others.tasks].map(({ id }) => id).toSorted()).toEqual(
        two.pages.toSorted(),
      );
      expect((await page(sources, { rootId: one.album })).tasks).toEqual([]);
      expect((await page(sources, { rootId: 'print:none' })).tasks).toEqual([]);
      await queues.album.remove(two.album.slice(6), { removeChildren: false });
      expect((await page(sources, { parentId: two.album })).tasks.map(({ id }) => id).toSorted()).toEqual(
        two.pages.toSorted(),
      );
      expect((await page(sources)).tasks.find(({ id }) => id === two.pages[0])?.rootId).toBeNull();
      await drain();
    });

    it('stop at queues that are not shown, which they name', async () => {
      const { print, album, pages } = await addFlow();
      const some = bullmqSources({ queues: [queues.album] });
      const found = await tree(some, album);
      expect(found?.tasks.map(({ id }) => id)).toEqual([album]);
      expect(found?.tasks[0]).toMatchObject({ parentId: print, rootId: null });
      expect(
        found?.relations
          ?.filter(({ child }) => child === album)
          .map(({ parent }) => parent)
          .toSorted(),
      ).toEqual(pages.toSorted());
      expect(await tree(some, print)).toBeNull();
      some.close();
      await drain();
    });

    it('end where they go round in circles', async () => {
      const first = await queues.page.add('a', {}, { jobId: 'a' });
      await queues.page.add('b', {}, { jobId: 'b', parent: { id: 'a', queue: 'bull:page' } });
      await queues.page.add('a', {}, { jobId: first.id as string, parent: { id: 'b', queue: 'bull:page' } });
      const found = await tree(sources, 'page:a');
      expect(found?.tasks.map(({ id }) => id).toSorted()).toEqual(['page:a', 'page:b']);
      expect((await page(sources)).tasks.length).toBe(2);
      await drain();
    });
  },
);
