/**
 * Compares `graph/` with `graph/updates/` with 0, 1 and 100 changed nodes, for workflows of 10, 1,000 and
 * 10,000 tasks: time and size of an answer that is not cached. Both are requested in turn.
 */
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createMonitorRouter } from '../src/index.ts';
import { memorySources } from '../src/memory.ts';
import { median, printTable } from './table.ts';

const SIZES = [10, 1_000, 10_000];
const CHANGES = [0, 1, 100];
const ROUNDS = 15;

interface Answer {
  readonly bytes: number;
  readonly ms: number;
  readonly text: string;
}

function ask(url: string): Promise<Answer> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const ms = performance.now() - start;
        const body = Buffer.concat(chunks);
        if (response.statusCode === 200) resolve({ bytes: body.length, ms, text: body.toString() });
        else reject(new Error(`${url}: ${response.statusCode}`));
      });
    }).on('error', reject);
  });
}

const rows: string[][] = [];
for (const size of SIZES) {
  const queue = memorySources();
  const idOf = (index: number): string => `task-${index}`;
  for (let index = 0; index < size; index += 1) {
    queue.record({
      id: idOf(index),
      state: 'STARTED',
      name: `shop.step_${index % 7}`,
      worker: `celery@shop-${index % 4}`,
      queue: 'default',
      args: [index, 'blue'],
      kwargs: { customer: index, token: 'secret' },
      ...(index === 0 ? {} : { parentId: idOf(Math.floor((index - 1) / 3)), rootId: idOf(0) }),
    });
  }
  const app = express();
  app.use('/monitor', createMonitorRouter({ sources: queue, authorize: false }));
  const server = createServer(app).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/monitor/api/tasks/${idOf(0)}/graph/`;
  const limit = `limit=${Math.max(size, 1)}`;
  let turn = 0;
  const change = (count: number): void => {
    turn += 1;
    for (let index = 0; index < count; index += 1) {
      queue.record({ id: idOf((turn * 131 + index) % size), state: `STEP_${turn}` });
    }
    // Another task changes each time, so that no answer is cached.
    queue.record({ id: `other-${turn}`, state: 'STARTED' });
  };
  const wholes: Answer[] = [];
  const updates = new Map<number, Answer[]>(CHANGES.map((count) => [count, []]));
  for (let round = -3; round < ROUNDS; round += 1) {
    for (const count of CHANGES) {
      if (count > size) continue;
      const whole = await ask(`${base}?${limit}`);
      const { cursor } = (JSON.parse(whole.text) as { meta: { cursor: string } }).meta;
      change(count);
      const update = await ask(`${base}updates/?${limit}&since=${cursor}`);
      const listed = (JSON.parse(update.text) as { node_updates: unknown[] }).node_updates.length;
      if (listed !== count) throw new Error(`${listed} nodes listed, ${count} changed`);
      if (round < 0) continue;
      wholes.push(whole);
      updates.get(count)?.push(update);
    }
    change(0);
  }
  server.close();
  const ms = (answers: readonly Answer[]): number => median(answers.map((answer) => answer.ms));
  const bytes = (answers: readonly Answer[]): number => median(answers.map((answer) => answer.bytes));
  const label = `${size.toLocaleString('en')} nodes`;
  rows.push([`${label}, \`graph/\``, ms(wholes).toFixed(1), bytes(wholes).toLocaleString('en'), '', '']);
  for (const [count, answers] of updates) {
    if (answers.length === 0) continue;
    rows.push([
      `${label}, ${count} changed`,
      ms(answers).toFixed(1),
      bytes(answers).toLocaleString('en'),
      (ms(answers) / ms(wholes)).toFixed(3),
      (bytes(answers) / bytes(wholes)).toFixed(4),
    ]);
  }
}
printTable('A graph and its updates', ['', 'ms', 'bytes', 'time of graph', 'bytes of graph'], rows);
process.exit(0);
