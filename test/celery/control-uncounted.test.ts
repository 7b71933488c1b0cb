import { describe, expect, it } from 'vitest';
import type { Mailbox, ReplyListener } from '../../src/sources/celery/broker.ts';
import { createBroadcaster } from '../../src/sources/celery/control/broadcast.ts';

/** Longer than any test takes, in milliseconds. */
const PATIENT_MS = 50_000;
const GRACE_MS = 20;

/** A broker that does not report who received a request. */
function openMailbox() {
  const requests: ReplyListener[] = [];
  const mailbox: Mailbox = {
    fault: null,
    async send(_request, _timeoutMs, listener) {
      requests.push(listener);
      return { receivers: null, end() {} };
    },
    close: async () => {},
  };
  return {
    mailbox,
    requests,
    reply(...workers: readonly string[]) {
      for (const worker of workers) {
        const body = Buffer.from(JSON.stringify({ [worker]: { ok: 'pong' } }));
        requests.at(-1)?.onReply({ contentType: 'application/json', isCompressed: false, body });
      }
    },
  };
}

describe('a broadcast whose receivers are not counted', () => {
  it('ends when all known workers have answered, and takes the replies of others that come at once', async () => {
    const { mailbox, reply } = openMailbox();
    const broadcast = createBroadcaster(mailbox, () => ['a@x', 'b@x'], GRACE_MS);
    const asked = broadcast('ping', PATIENT_MS);
    await Promise.resolve();
    reply('a@x');
    setTimeout(() => reply('b@x', 'unknown@x'), 3 * GRACE_MS);
    const replies = await asked;
    expect([...replies.values.keys()]).toEqual(['a@x', 'b@x', 'unknown@x']);
    expect(replies).toMatchObject({ receivers: null, isComplete: true });
  });

  it('waits to its end while no worker is known, and afterwards for those that answered', async () => {
    const { mailbox, reply } = openMailbox();
    const broadcast = createBroadcaster(mailbox, () => [], GRACE_MS);
    const first = broadcast('ping', 5 * GRACE_MS);
    await Promise.resolve();
    reply('a@x', 'b@x');
    const begun = performance.now();
    expect(await first).toMatchObject({ isComplete: false });
    expect(performance.now() - begun).toBeGreaterThan(3 * GRACE_MS);
    const second = broadcast('ping', PATIENT_MS);
    await Promise.resolve();
    reply('b@x');
    setTimeout(() => reply('a@x'), 3 * GRACE_MS);
    expect((await second).values.size).toBe(2);
  });

  it('forgets a worker that did not answer', async () => {
    const { mailbox, reply } = openMailbox();
    let known = ['a@x', 'b@x'];
    const broadcast = createBroadcaster(mailbox, () => known, GRACE_MS);
    const both = broadcast('ping', PATIENT_MS);
    await Promise.resolve();
    reply('a@x', 'b@x');
    await both;
    known = ['a@x'];
    const late = broadcast('ping', 5 * GRACE_MS);
    await Promise.resolve();
    reply('a@x');
    expect(await late).toMatchObject({ isComplete: true });
    const last = broadcast('ping', PATIENT_MS);
    await Promise.resolve();
    reply('a@x');
    expect((await last).values.size).toBe(1);
  });

  it('ends at once when all workers that it names have answered', async () => {
    const { mailbox, reply } = openMailbox();
    const broadcast = createBroadcaster(mailbox, () => ['a@x', 'b@x'], PATIENT_MS);
    const asked = broadcast('stats', PATIENT_MS, ['b@x']);
    await Promise.resolve();
    reply('b@x');
    expect(await asked).toMatchObject({ isComplete: true });
  });
});
