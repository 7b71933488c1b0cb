import { afterAll, beforeAll, describe, it } from 'vitest';
import { postgresMissing } from '../../helpers/postgres.ts';
import { titleUnless } from '../../helpers/redis-server.ts';
import { checkPlans, fillResults } from './results-plans.ts';
import { type AppDatabase, DATABASES } from './sql-databases.ts';

describe.skipIf(postgresMissing !== null)(titleUnless(postgresMissing, 'results in PostgreSQL'), () => {
  let database: AppDatabase;

  beforeAll(async () => {
    database = await DATABASES[0].open();
  });

  afterAll(() => database?.close());

  it.each(['django', 'sqlalchemy'] as const)('of %s are found by indexes alone', async (writer) => {
    await fillResults(database, writer);
    await checkPlans(database, writer);
  });
});
