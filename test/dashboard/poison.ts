/** Sources each of whose texts is an attack on the page. */
import { memorySources } from '../../src/memory.ts';

export const POISON = `"'><img src=x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)>`;
const LINK = 'javascript:alert(4)';

/** Every text that a source can give is poisoned. */
export function poisoned(link = LINK) {
  const now = Date.now();
  const queue = memorySources({
    name: 'evil',
    schedules: () => [
      {
        id: POISON,
        name: POISON,
        task: POISON,
        schedule: POISON,
        timezone: POISON,
        args: POISON,
        queue: POISON,
        nextRunAt: new Date(now - 600_000),
      },
    ],
  });
  queue.recordWorker({ hostname: POISON, queues: [POISON], software: POISON, pool: POISON });
  const common = {
    name: POISON,
    queue: POISON,
    worker: POISON,
    args: POISON,
    kwargs: { [POISON]: POISON },
    rootId: POISON,
    groupId: `group ${POISON}`,
  };
  for (const id of [POISON, `a/b?c#d ${POISON}`]) {
    queue.record({
      ...common,
      id,
      state: 'STARTED',
      timestamp: now - 2_000,
      ...(id !== POISON && { parentId: POISON }),
    });
    queue.record({
      ...common,
      id,
      state: 'FAILURE',
      timestamp: now - 1_000,
      result: POISON,
      error: Object.assign(new Error(POISON), { stack: POISON }),
      detail: POISON,
    });
  }
  queue.record({ ...common, id: 'state', state: POISON, timestamp: now });
  return {
    ...queue,
    components: {
      name: 'evil',
      listComponents: () => [
        {
          key: 'broker',
          name: POISON,
          enabled: true,
          status: 'down' as const,
          url: link,
          config: { hints: [POISON], [POISON]: POISON },
        },
      ],
    },
    queues: {
      name: 'evil',
      listQueues: () => [
        { name: POISON, waiting: 1, reserved: 0, consumers: 0, oldestDueAt: null, asOf: null },
      ],
    },
  };
}
