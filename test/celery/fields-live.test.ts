import { describe } from 'vitest';
import { celeryMissing } from '../helpers/celery-app.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { checkFields, type FieldsServers } from './fields-lab.ts';

const missing = redisMissing ?? celeryMissing;

async function start(): Promise<FieldsServers> {
  const redis = await startRedis();
  return {
    settings: { broker_url: redis.url(1), result_backend: redis.url(2) },
    close: () => redis.close(),
  };
}

const DEPLOYMENTS = [
  { title: 'with sent events and extended results', sent: true, extended: true, start },
  { title: 'without sent events and extended results', sent: false, extended: false, start },
];

describe.skipIf(missing !== null)(titleUnless(missing, 'each field of a workload with retries'), () => {
  describe.each(DEPLOYMENTS)('$title', checkFields);
});
