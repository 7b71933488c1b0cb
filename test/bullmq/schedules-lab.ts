/** Job schedulers of a running BullMQ, as the source shows them. */
import type { Queue } from 'bullmq';
import { afterAll, beforeAll, expect } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { Schedule } from '../../src/model.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context } from '../helpers/bullmq-read.ts';
import type { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';

/** What tests of schedules use. */
export interface SchedulesLab {
  /** Runs from the first test on. */
  readonly app: BullMQApp;
  /** Every row of a queue, from a source that stays open. */
  rowsOf(queue: Queue): Promise<readonly Schedule[]>;
  /** The row of a scheduler; the test fails without one. */
  one(queue: Queue, key: string): Promise<Schedule>;
}

/** What a source lists. */
export async function schedulesOf(sources: BullMQSources): Promise<readonly Schedule[]> {
  return (await sources.schedules.listSchedules(context)) ?? [];
}

/** Starts a BullMQ for the tests of a `describe`, and closes it and every source behind them. */
export function schedulesLab({ bullmq }: Pick<(typeof BULLMQ_VERSIONS)[number], 'bullmq'>): SchedulesLab {
  let app: BullMQApp | undefined;
  const opened = new Map<Queue, BullMQSources>();

  beforeAll(async () => {
    app = await startBullMQ(bullmq);
  });

  afterAll(async () => {
    for (const sources of opened.values()) sources.close();
    await app?.close();
  });

  async function rowsOf(queue: Queue): Promise<readonly Schedule[]> {
    const sources = opened.get(queue) ?? bullmqSources({ queues: [queue] });
    opened.set(queue, sources);
    return schedulesOf(sources);
  }

  return {
    get app() {
      if (app === undefined) throw new Error('BullMQ has not started');
      return app;
    },
    rowsOf,
    async one(queue, key) {
      const row = (await rowsOf(queue)).find(({ id }) => id === `${queue.name}:${key}`);
      expect(row, key).toBeDefined();
      return row as Schedule;
    },
  };
}
