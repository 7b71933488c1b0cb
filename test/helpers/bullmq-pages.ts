import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { Task } from '../../src/model.ts';
import { type BullMQApp, startBullMQ } from './bullmq-app.ts';
import { type Filling, fillQueues } from './bullmq-fill.ts';
import { BULLMQ_VERSIONS } from './bullmq-versions.ts';

/** A Redis with queues, and the sources that read it. */
export interface PagesLab {
  readonly app: BullMQApp;
  readonly redis: Redis;
  readonly sources: BullMQSources;
  fill(...fillings: readonly Filling[]): Promise<void>;
}

/** Starts one for each test of the suite that this is called in. @returns what is there while a test runs */
export function pagesLab(): PagesLab {
  const lab = {} as { -readonly [Part in keyof PagesLab]: PagesLab[Part] };

  beforeEach(async () => {
    lab.app = await startBullMQ(BULLMQ_VERSIONS[0]?.bullmq as (typeof BULLMQ_VERSIONS)[0]['bullmq']);
    lab.redis = new Redis(lab.app.redis.port, '127.0.0.1');
    lab.redis.on('error', () => {});
    lab.sources = bullmqSources({ connection: lab.app.redis.url() });
    lab.fill = (...fillings) => fillQueues(lab.app.redis.port, ...fillings);
  });

  afterEach(async () => {
    lab.sources.close();
    lab.redis.disconnect();
    await lab.app.close();
  });
  return lab;
}

export function idsOf(rows: readonly Task[]): readonly string[] {
  return rows.map(({ id }) => id);
}

/** Fails unless each of the jobs that stayed is there once. */
export function expectOnce(rows: readonly Task[], stayed: readonly string[]): void {
  const times = new Map<string, number>();
  for (const id of idsOf(rows)) times.set(id, (times.get(id) ?? 0) + 1);
  expect(stayed.filter((id) => times.get(id) !== 1)).toEqual([]);
}

/** Ids of a filling that are left after these have gone. */
export function rest(
  queue: string,
  count: number,
  gone: ReadonlySet<string> = new Set(),
  first = 1,
): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${queue}:${first + index}`).filter(
    (id) => !gone.has(id),
  );
}
