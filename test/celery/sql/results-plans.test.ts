import { afterAll, beforeAll, describe, it } from 'vitest';
import { titleUnless } from '../../helpers/redis-server.ts';
import { checkPlans, fillResults } from './results-plans.ts';
import { type AppDatabase, DATABASES } from './sql-databases.ts';

describe.each(DATABASES)('results in a large table of $name', ({ missing, open }) => {
  describe.skipIf(missing !== null)(titleUnless(missing, 'that others write'), () => {
    let database: AppDatabase;

    beforeAll(async () => {
      database = await open();
    });

    afterAll(() => database?.close());

    it.each(['django', 'sqlalchemy'] as const)('of %s are found by indexes alone', async (writer) => {
      await fillResults(database, writer);
      await checkPlans(database, writer);
    });
  });
});
