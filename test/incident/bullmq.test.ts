import { afterAll, beforeAll, describe } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { browserMissing } from '../dashboard/browser.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { askAll } from './ask-all.ts';
import { type Shop, startShop } from './bullmq-incident.ts';
import type { Facts } from './facts.ts';
import { type LiveRouter, serveForAll } from './live-router.ts';

const missing = browserMissing ?? redisMissing;

describe.skipIf(missing !== null)(titleUnless(missing, 'an incident of a running BullMQ'), () => {
  let shop: Shop;
  let router: LiveRouter;
  let facts: Facts;

  beforeAll(async () => {
    shop = await startShop();
    let deploy: number | null = null;
    router = await serveForAll(bullmqSources({ connection: shop.app.redis.url() }), () =>
      deploy === null ? [] : [{ at: new Date(deploy), text: 'v412', url: null }],
    );
    facts = await shop.play();
    deploy = facts.deploy;
  }, 240_000);

  afterAll(async () => {
    await router?.close();
    await shop?.app.close();
  }, 60_000);

  askAll('bullmq', () => Promise.resolve({ base: router.base, facts }));
});
