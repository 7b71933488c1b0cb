/**
 * The server of the list benchmark, in its own process: the monitor over `count` tasks in memory beside
 * two bare routes, which send a ready buffer and `res.json` the same rows.
 */
import express from 'express';
import { createMemoryHistory } from '../src/history/memory-history.ts';
import { historySources } from '../src/history/store-parts.ts';
import { createMonitorRouter } from '../src/index.ts';
import { deliverMessage } from '../src/sources/celery/brokers/redis/events.ts';
import { batches, envelope, events, intakeOf, type RawEvent } from './traffic.ts';

const count = Number(process.argv[2]);
const start = Date.now() - count;
const history = createMemoryHistory({ maxTasks: count, maxBytes: 4 * 1024 ** 3 });
const intake = intakeOf(history);
/** Tasks that change in turn: hundreds of starts of one task would measure how long it takes to merge them. */
const changing: RawEvent[] = [];
const MOST_CHANGING = 5_000;
function* watched(): Generator<RawEvent> {
  for (const event of events(count, start)) {
    if (event.type === 'task-sent' && changing.length < MOST_CHANGING) changing.push(event);
    yield event;
  }
}
for (const message of batches(watched(), 100)) deliverMessage(message, intake.events);

const app = express();
app.disable('x-powered-by');
app.use(
  '/monitor',
  createMonitorRouter({ sources: historySources('bench', history.reader), authorize: false }),
);

/** A new attempt of one of these tasks changes the list, so that the answer is built anew. */
let changes = 0;
app.use('/changing', (_request, _response, next) => {
  changes++;
  const task = changing[changes % changing.length];
  const time = Date.now() / 1000 + changes / 1e6;
  deliverMessage(
    envelope({ ...task, type: 'task-started', hostname: 'w1@alpha', timestamp: time }),
    intake.events,
  );
  next();
});
app.use(
  '/changing/monitor',
  createMonitorRouter({ sources: historySources('bench', history.reader), authorize: false }),
);

let body: Buffer = Buffer.alloc(0);
let rows: unknown = {};
app.get('/bare/buffer', (_request, response) => {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(body);
});
app.get('/bare/json', (_request, response) => {
  response.json(rows);
});
app.get('/changing/bare/json', (_request, response) => {
  response.json(rows);
});
app.get('/prepare', async (request, response) => {
  const { port } = request.socket.address() as { port: number };
  const answer = await fetch(`http://127.0.0.1:${port}/monitor/api/tasks/?limit=100`);
  body = Buffer.from(await answer.arrayBuffer());
  rows = JSON.parse(body.toString());
  const { tasks } = rows as { tasks: Record<string, string>[] };
  response.json({ etag: answer.headers.get('etag'), bytes: body.length, task: tasks[0] });
});

const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${port}\n`);
});
