/** Refusals of overloads: clients that ask again at once must not keep the host busy with them. */
import { describe, expect, it, vi } from 'vitest';
import { createRefusals } from '../../src/http/refusals.ts';
import type { ProblemBody } from '../../src/wire.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve, until } from './host-kit.ts';
import { createShop } from './shop-sources.ts';

describe.each(EXPRESS_MAJORS)('on $name, a router with too much to do', (major) => {
  it('answers a client that ignores Retry-After ten times a second at most', async () => {
    const listTasks = vi.fn(() => new Promise<never>(() => {}));
    const { get, router } = await serve(major, {
      sources: { tasks: { ...createShop().sources.tasks, listTasks } },
      limits: { concurrency: 1 },
    });
    const first = get('/api/tasks/?limit=1');
    await until(() => listTasks.mock.calls.length === 1);
    const start = performance.now();
    for (const limit of [2, 3, 4, 5]) {
      const { status, body, headers } = await get<ProblemBody>(`/api/tasks/?limit=${limit}`);
      expect([status, body.code, headers['retry-after']]).toEqual([503, 'overloaded', '1']);
    }
    expect(performance.now() - start).toBeGreaterThan(4 * 95);
    expect(listTasks).toHaveBeenCalledTimes(1);
    await router.close();
    await first;
  });
});

describe('refusals', () => {
  it('are sent at once when 1,000 others wait', async () => {
    const refusals = createRefusals();
    let sent = 0;
    const send = (): void => {
      sent += 1;
    };
    for (let at = 0; at < 1_000; at += 1) refusals.delay(send, () => {});
    expect(sent).toBe(0);
    refusals.delay(send, () => {});
    expect(sent).toBe(1);
    await until(() => sent === 1_001);
    refusals.delay(send, () => {});
    expect(sent).toBe(1_001);
  });

  it('that cannot be sent are reported, and not thrown into the host', async () => {
    const errors: unknown[] = [];
    createRefusals().delay(
      () => {
        throw new RangeError('broken');
      },
      (error) => errors.push(error),
    );
    await until(() => errors.length === 1);
    expect(errors[0]).toBeInstanceOf(RangeError);
  });
});
