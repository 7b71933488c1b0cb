/** What Celery publishes and stores, as a broker and a result backend hand it over. */
import fc from 'fast-check';
import { expect, vi } from 'vitest';
import type { CelerySources } from '../../../src/celery.ts';
import { pass } from '../../celery/array-deployment.ts';
import { type ArrayReply, createArrayMailbox } from '../../celery/array-mailbox.ts';
import { context } from '../../helpers/celery-events.ts';
import { queryOf } from '../../helpers/task-query.ts';
import { expectAllRefused, holdClock, NOW, tellAmidGood } from '../deployment.ts';
import { anyValue, bytes, longText, pythonJson, text } from '../inputs.ts';
import { misfit } from '../mutations.ts';
import { BATCH, hostile, oneEvent, REPLY_VALUES, someId } from '../said.ts';
import { GROUPS, RESULTS } from '../seeds.ts';
import { defineTarget, type FuzzTarget, type Runnable } from '../target.ts';

const files = (folder: string, ...names: string[]): string[] =>
  names.map((name) => `sources/celery/${folder}${name}.ts`);

/** A target whose deployment stands still in time. */
function define<Input>(target: Omit<FuzzTarget<Input>, 'open' | 'close' | 'casesPerInput'>): Runnable {
  return defineTarget({
    ...target,
    casesPerInput: BATCH.maxLength,
    open: async () => holdClock(),
    close: async () => void vi.useRealTimers(),
  });
}

export const eventTarget = define({
  name: 'Celery events',
  share: 20,
  covers: [...files('protocol/', 'events', 'python-repr'), ...files('', 'collector')],
  inputs: fc.array(fc.oneof(oneEvent, fc.array(oneEvent, { maxLength: 5 })), BATCH),
  check: (bodies) =>
    tellAmidGood(async ({ hear, sources }) => {
      // What comes behind it in the same message is kept.
      for (const [at, body] of bodies.entries())
        hear([body, { type: 'task-sent', uuid: `kept ${at}`, timestamp: NOW / 1_000 }].flat());
      for (const at of bodies.keys())
        expect(await sources.tasks.getTask(`kept ${at}`, context)).toMatchObject({ state: 'PENDING' });
    }),
});

export const resultTarget = define({
  name: 'Celery results',
  share: 20,
  covers: files('protocol/', 'results', 'python-json', 'python-repr'),
  inputs: fc.array(fc.tuple(hostile(RESULTS), someId), BATCH),
  check(results) {
    const half = results.length / 2;
    const kept = ['{"status": "SUCCESS", "date_done": "2026-11-21T02:00:00"}', 'kept'] as const;
    // What is stored beside them is read, too.
    const stored = [...results.slice(half), kept];
    return tellAmidGood(
      async ({ publish, sources }) => {
        for (const [message, id] of results.slice(0, half)) publish(message, id);
        await pass(5_000);
        const { tasks } = await sources.tasks.listTasks(queryOf({ limit: 100 }), context);
        expect(tasks.map(({ id }) => id)).toContain('kept');
      },
      { stored },
    );
  },
});

export const groupTarget = define({
  name: 'Celery groups',
  share: 30,
  covers: [...files('protocol/', 'results'), ...files('lineage/', 'lineage', 'relations', 'pending-links')],
  inputs: fc.array(fc.tuple(hostile(GROUPS), someId), BATCH),
  check: (groups) =>
    tellAmidGood(async ({ results, sources }) => {
      for (const [message, id] of groups) results.group(message, id);
      await expectAllRefused(sources);
    }),
});

/** What a worker may say of itself and of its tasks. */
const value = fc.oneof(
  misfit(REPLY_VALUES.map((reply) => Object.values(reply)[0])),
  fc.array(anyValue, { maxLength: 3 }),
);
const body = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.oneof(misfit(REPLY_VALUES).map(pythonJson), hostile(REPLY_VALUES.map(pythonJson))),
  },
  { weight: 1, arbitrary: fc.oneof(longText(8_192), bytes) },
);
const reply = fc.oneof(
  { weight: 3, arbitrary: fc.record({ value }) },
  { weight: 2, arbitrary: body.map((given) => ({ body: Buffer.from(given) })) },
  {
    weight: 1,
    arbitrary: fc.record({
      body: body.map((given) => Buffer.from(given)),
      contentType: fc.oneof(fc.constantFrom('application/x-python-serialize', 'application/json'), text),
      isCompressed: fc.boolean(),
    }),
  },
);

export const replyTarget = define<readonly ArrayReply[]>({
  name: 'Celery control replies',
  share: 20,
  covers: files('control/', 'broadcast', 'inspection', 'worker-control', 'running'),
  inputs: fc.array(reply, BATCH),
  check(replies) {
    const workers = replies.map(
      (given, at) =>
        [
          `w${at}@hostile`,
          // A worker is asked for the rest once it has answered this.
          ({ method }: { readonly method: string }) =>
            method === 'ping' || (method === 'conf' && at % 2 === 0)
              ? { value: method === 'ping' ? { ok: 'pong' } : {} }
              : given,
        ] as const,
    );
    const control = createArrayMailbox(Object.fromEntries(workers), workers.length);
    return tellAmidGood(({ sources }) => askAll(sources), { control });
  },
});

/** Waits for all that is asked: also which tasks run, which is asked soon after the beginning. */
async function askAll(sources: CelerySources): Promise<void> {
  const listing = sources.workers.listWorkers(context);
  await pass(8_000);
  await listing;
  await sources.workers.listWorkers(context);
}
