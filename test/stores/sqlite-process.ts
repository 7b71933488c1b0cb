/** One of several processes that use a file at once: `node sqlite-process.ts <file> <name> <tasks>`. */
import { createSqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { taskOf } from './samples.ts';

const [, , path = '', name = '', tasks = '0'] = process.argv;
const store = createSqliteStore({
  ...{ path, isReadOnly: false, deployment: null, retention: { taskDays: 7, rollupDays: 90 } },
  thread: new URL('../../src/stores/sqlite/sqlite-thread.ts', import.meta.url),
});
// The store itself keeps no process alive while it waits for a lock; an app has its server.
const alive = setInterval(() => {}, 60_000);
const session = await store.open({ source: 'shared', deployment: null, isReadOnly: false });
let own = 0;
for (let at = 0; at < Number(tasks); at++) {
  own += (await session.tasks.write([taskOf(`task-${at}`, { name })])).size;
  await session.feed.append(name, '[]', 1);
}
await store.close(session);
clearInterval(alive);
console.log(own);
