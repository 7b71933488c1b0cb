import { describe, it } from 'vitest';
import { browserMissing, browserTitle } from './browser.ts';
import { ids } from './shop.ts';
import { DESKTOP, openStill, PHONE, walkStops } from './stops.ts';

const VIEWS = [
  ...['#/', '#/failures', '#/tasks', `#/tasks/${ids.failed}`, `#/workflow/${ids.root}`],
  ...['#/queues', '#/queues/orders', '#/names/payments.charge', '#/workers', '#/schedules', '#/system'],
];

describe.skipIf(browserMissing)(browserTitle('in a browser, by keys alone,'), () => {
  it.each([DESKTOP, PHONE])(
    'every stop of every view is seen and marked, and nothing moves, in %j',
    async (size) => {
      const { page, go, settled } = await openStill('#/', size);
      for (const hash of VIEWS) {
        await go(hash);
        await settled();
        await walkStops(page, hash);
      }
    },
    120_000,
  );
});
