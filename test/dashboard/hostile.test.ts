import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { browserMissing, browserTitle, look } from './browser.ts';

const POISON = `"'><img src=x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)>`;
const LINK = 'javascript:alert(4)';

/** Every text that a source can give is poisoned. */
function poisoned() {
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
          url: LINK,
          config: { hints: [POISON], [POISON]: POISON },
          queues: [{ name: POISON, waiting: 1, reserved: 0, consumers: 0 }],
        },
      ],
    },
  };
}

const id = encodeURIComponent(POISON);

describe.skipIf(browserMissing)(
  browserTitle('in a browser, a name, value or traceback full of HTML and script'),
  () => {
    it.each([
      ['the overview', '#/'],
      ['the list', '#/tasks'],
      [
        'the list with every filter',
        `#/tasks?q=alert&state=${id}&name=${id}&worker=${id}&queue=${id}&group_id=${id}`,
      ],
      ['a task', `#/tasks/${id}`],
      ['a task with slashes', `#/tasks/${encodeURIComponent(`a/b?c#d ${POISON}`)}`],
      ['a task that nobody knows', `#/tasks/${encodeURIComponent(`x${POISON}`)}`],
      ['a workflow', `#/workflow/${id}`],
      ['workers', '#/workers'],
      ['schedules', '#/schedules'],
      ['components', '#/components'],
      ['an address that is no view', `#/${POISON}`],
    ])('shows as text in %s', async (_, hash) => {
      for (const major of EXPRESS_MAJORS.slice(0, 1)) {
        const { base } = await serve(major, { sources: poisoned(), dashboard: { title: POISON } });
        const { page, text } = await look(base, hash, { expected: /40[04]|503/ });
        await page.getByText('onerror=alert(1)').first().waitFor();
        expect(await text()).toContain('<img src=x onerror=alert(1)>');
        expect(
          await page
            .locator('#app img, #app script, #app [onload], #app [onerror], a[href^="javascript:"]')
            .count(),
        ).toBe(0);
      }
    });
  },
);
