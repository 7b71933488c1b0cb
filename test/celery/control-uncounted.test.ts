import { expect, it, vi } from 'vitest';
import type { WorkerHealthCheck } from '../../src/model.ts';
import { context } from '../helpers/celery-events.ts';
import { holdTime, openArrayDeployment, pass } from './array-deployment.ts';
import { type ArrayReply, createArrayMailbox } from './array-mailbox.ts';

/** A question waits no longer for workers that do not reply, in milliseconds. */
const DEADLINE_MS = 1_000;

/** Answers serve for a second, and the source asks by itself only in the first two. */
const SETTLED_MS = 5_000;

/** Workers whose pings come after so many milliseconds, behind a broker that does not count who is asked. */
function openPings(first: Readonly<Record<string, number>> = {}) {
  holdTime(Date.now());
  const workers: Record<string, () => ArrayReply> = {};
  answers(first);
  const mailbox = createArrayMailbox(workers);
  const { sources, hear } = openArrayDeployment({ broker: (made) => ({ ...made, control: mailbox }) });

  function answers(delays: Readonly<Record<string, number>>): void {
    for (const name of Object.keys(workers)) delete workers[name];
    for (const [name, afterMs] of Object.entries(delays)) {
      workers[name] = () => ({ value: { ok: 'pong' }, afterMs });
    }
  }

  return {
    answers,
    /** Lets this worker be known by its heartbeat. */
    beat(hostname: string) {
      const timestamp = Date.now() / 1_000;
      hear({ type: 'worker-heartbeat', hostname, freq: 2, timestamp, pid: 1, active: 0, processed: 1 });
    },
    /** @returns who has replied, and how long that took by the clock of the test */
    async ping(): Promise<WorkerHealthCheck & { readonly tookMs: number }> {
      let check: WorkerHealthCheck | null = null;
      const begun = Date.now();
      const asking = async (): Promise<void> => {
        check = (await sources.health.checkWorkers?.({ ...context, ping: true })) ?? null;
      };
      void asking();
      while (check === null && Date.now() < begun + 10 * DEADLINE_MS) await vi.advanceTimersByTimeAsync(10);
      return { ...(check as unknown as WorkerHealthCheck), tookMs: Date.now() - begun };
    },
  };
}

it('ends when all known workers have replied, and takes the replies of others that come at once', async () => {
  const { answers, beat, ping } = openPings();
  await pass(SETTLED_MS);
  for (const name of ['a@x', 'b@x']) beat(name);
  answers({ 'a@x': 0, 'b@x': 300, 'unknown@x': 340 });
  const check = await ping();
  expect(check.responding).toEqual(['a@x', 'b@x', 'unknown@x']);
  expect(check.tookMs).toBeGreaterThanOrEqual(300);
  expect(check.tookMs).toBeLessThan(DEADLINE_MS);
});

it('waits to its end while no worker is known, and afterwards for those that replied', async () => {
  const { ping } = openPings({ 'a@x': 600, 'b@x': 0 });
  const first = await ping();
  expect(first.responding).toEqual(['a@x', 'b@x']);
  expect(first.tookMs).toBeGreaterThanOrEqual(DEADLINE_MS);
  await pass(SETTLED_MS);
  const second = await ping();
  expect(second.responding).toEqual(['a@x', 'b@x']);
  expect(second.tookMs).toBeGreaterThanOrEqual(600);
  expect(second.tookMs).toBeLessThan(DEADLINE_MS);
});

it('waits no more for a worker that has not replied for long', async () => {
  const { answers, ping } = openPings({ 'a@x': 0, 'b@x': 0 });
  await ping();
  answers({ 'a@x': 0 });
  await pass(SETTLED_MS);
  expect((await ping()).tookMs).toBeGreaterThanOrEqual(DEADLINE_MS);
  await pass(36 * SETTLED_MS);
  await ping();
  await pass(SETTLED_MS);
  const check = await ping();
  expect(check.responding).toEqual(['a@x']);
  expect(check.tookMs).toBeLessThan(DEADLINE_MS);
});
