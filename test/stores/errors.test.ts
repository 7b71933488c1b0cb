import { expect, it } from 'vitest';
import {
  createPostgresStore,
  type PostgresStoreSettings,
} from '../../src/stores/postgres/create-postgres-store.ts';

/** Opens a store over a client each of whose statements does this. */
async function openOver(run: () => Promise<never>, given: Partial<PostgresStoreSettings> = {}) {
  const store = createPostgresStore({
    ...{ client: { query: run, script: run }, schema: null, prefix: 'monitor_', isReadOnly: false },
    ...{ retention: { taskDays: 7, rollupDays: 90 }, deployment: null, ...given },
  });
  return await store.open({ source: 'shop', deployment: null, isReadOnly: false });
}

it.each([
  [{ code: '53100', message: 'secret' }, 'disk_full'],
  [{ code: '25006' }, 'read_only'],
  [{ code: '28P01' }, 'unreachable'],
  [{ code: '57P01' }, 'unreachable'],
  [{ code: '57014' }, 'timeout'],
  [{ code: '55P03' }, 'locked'],
  [{ code: '40P01' }, 'conflict'],
  [{ code: '42501' }, 'permission'],
  [{ code: 'XX001' }, 'corrupt'],
  [{ code: '42601' }, 'failed'],
  [{ code: 'ECONNREFUSED' }, 'unreachable'],
  [{ code: 'CONNECT_TIMEOUT' }, 'unreachable'],
  [new Error('timeout exceeded when trying to connect'), 'unreachable'],
  [new Error('Cannot use a pool after calling end on the pool'), 'unreachable'],
  [new Error('Connection terminated unexpectedly'), 'unreachable'],
  [new TypeError('secret'), 'failed'],
  [null, 'failed'],
])('names the failure of PostgreSQL %j', async (error, code) => {
  const failure = await openOver(() => Promise.reject(error)).catch((reason: unknown) => reason);
  expect(failure).toMatchObject({ name: 'StoreError', code });
  const { message, remedy } = failure as { message: string; remedy: string };
  expect(message + remedy).toMatch(/^(?!.*secret).+\..+\.$/);
});

it('waits for no answer longer than its deadline, and ignores a late failure', async () => {
  let fail = (): void => {};
  const late = () => new Promise<never>((_, reject) => (fail = () => reject(new Error('late'))));
  const opening = openOver(late, { deadlines: { read: 10, write: 10 } });
  await expect(opening).rejects.toMatchObject({ code: 'timeout' });
  fail();
});
