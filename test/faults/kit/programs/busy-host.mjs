/** A host with many tasks in its monitor and a route of its own, until its standard input ends. It prints its port. */
import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { memorySources } from 'express-task-monitor/memory';

const queue = memorySources();
for (let number = 0; number < 5_000; number += 1) {
  const id = `task-${number}`;
  const parentId = number === 0 ? null : `task-${(number - 1) >> 2}`;
  const args = [number, 'x'.repeat(200), { password: 'hunter2' }];
  queue.record({
    id,
    name: `job.${number % 50}`,
    worker: `w${number % 9}`,
    state: 'STARTED',
    args,
    parentId,
  });
  queue.record({
    id,
    state: number % 7 === 0 ? 'FAILURE' : 'SUCCESS',
    result: number,
    detail: `error ${number}`,
  });
}
const router = createMonitorRouter({ sources: queue, authorize: false, timeoutMs: 60_000 });
const app = express().use('/monitor', router);
app.get('/canary', (_request, response) => void response.end('sings'));
// What changes makes each list be read anew.
let changes = 0;
const changing = setInterval(() => queue.record({ id: `new-${++changes % 1_000}`, state: 'STARTED' }), 20);
const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', async () => {
  clearInterval(changing);
  await router.close();
  server.closeAllConnections();
  server.close();
});
