import type { Queue } from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { MonitorSources } from '../../src/index.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { BULLMQ_VERSIONS, SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { type Host, serve } from '../router/host-kit.ts';
import { leakIn } from './corpus/index.ts';
import { leakFinder } from './leaks.ts';
import { listAll, PLAIN_TEXTS, readEach, routedBy, SECRET_TEXTS } from './places.ts';

const leaksIn = leakFinder(SECRET_TEXTS);

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'of the jobs of $label,'),
  { timeout: 180_000 },
  ({ bullmq }) => {
    let app: BullMQApp;
    let queue: Queue;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
      queue = app.queue('mail');
      const texts = [...SECRET_TEXTS.map(({ text }) => text), ...PLAIN_TEXTS];
      const jobs = texts.flatMap((text, index) => [
        { name: 'fail', data: { note: text, list: [text] }, opts: { jobId: `fail-${index}` } },
        { name: 'send', data: { note: text }, opts: { jobId: `done-${index}` } },
      ]);
      await queue.addBulk(jobs);
      app.worker(
        queue.name,
        async (job) => {
          if (job.name === 'fail') throw new Error(job.data.note);
          return job.data.note;
        },
        { concurrency: 50 },
      );
      await app.settled(queue, jobs.length, 'completed', 'failed');
    }, 120_000);

    afterAll(() => app?.close());

    const host = (sources: MonitorSources = bullmqSources({ queues: [queue] })): Promise<Host> =>
      serve(EXPRESS, { sources });
    const plain = (): MonitorSources => bullmqSources({ queues: [queue], redact: false });

    // What redacts is the same code for each version of BullMQ.
    const redactors = [
      ['', () => bullmqSources({ queues: [queue] }), 10],
      [' that the source alone redacts', () => routedBy(false, bullmqSources({ queues: [queue] })), 1],
      [' that the router alone redacts', () => routedBy({}, plain()), 10],
    ] as const;
    it.each(bullmq === BULLMQ_VERSIONS[0]?.bullmq ? redactors : redactors.slice(0, 1))(
      'no secret is on any route%s',
      async (_, sources, step) => {
        const served = await host(sources());
        const list = await listAll(served);
        expect(list.tasks.length).toBe(2 * (SECRET_TEXTS.length + PLAIN_TEXTS.length));
        expect(leaksIn(list.text)).toEqual([]);
        const pathsOf = (index: number): string[] =>
          [`mail:fail-${index}`, `mail:done-${index}`].flatMap((id) => {
            const path = `/api/tasks/${encodeURIComponent(id)}/`;
            return index % 10 === 0 ? [path, `${path}graph/`] : [path];
          });
        const checked = SECRET_TEXTS.flatMap((entry, index) =>
          index % step === 0 ? pathsOf(index).map((path) => ({ path, entry })) : [],
        );
        const leaks: string[] = [];
        await readEach(served, checked, ({ entry }, { status, text }) => {
          if (status !== 200 || leakIn(text, entry) !== null) leaks.push(`${entry.rest}\n${text}`);
        });
        expect(leaks).toEqual([]);
      },
    );

    it('what is harmless is as it was, and every secret is seen when the redaction is off', async () => {
      const shown = await listAll(await host());
      const raw = await listAll(await host(plain()));
      const rows = new Map(raw.tasks.map((task) => [task.task_id, task]));
      for (const task of shown.tasks) {
        const index = Number(/\d+$/.exec(task.task_id)?.[0]);
        const untouched = rows.get(task.task_id);
        const entry = SECRET_TEXTS[index];
        if (entry === undefined) expect(task).toEqual(untouched);
        else expect(leakIn(JSON.stringify(untouched), entry), entry.rest).not.toBeNull();
      }
    });
  },
);
