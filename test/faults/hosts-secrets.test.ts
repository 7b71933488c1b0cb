import { expect } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { memorySources } from '../../src/memory.ts';
import type { TasksBody } from '../../src/wire.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { freePort, until } from '../helpers/redis-server.ts';
import { NOTATIONS } from '../redact/notations.ts';
import { faultCase } from './kit/fault-case.ts';
import { captureLogs } from './kit/log-capture.ts';

const KEYS = ['password', 'api_key', 'authorization', 'customerPassword', 'refresh_token'];
const SHAPES: readonly ((secret: string) => string)[] = [
  (secret) => `redis://user:${secret}@host:6379/0`,
  (secret) => `amqp://${secret}:${secret}@host//`,
  (secret) => `GET https://host/path?token=${secret}&a=1`,
  (secret) => `Authorization: Bearer ${secret}${secret}`,
];

/** Over two hundred of them, each of which may nowhere be seen. */
function recordSecrets() {
  const queue = memorySources();
  let count = 0;
  function canary(): string {
    count += 1;
    return `canary${count}secret`;
  }
  for (const [name, write] of Object.entries(NOTATIONS)) {
    for (const key of KEYS) {
      const text = (): string => write({ id: 7, [key]: canary(), note: 'plain' });
      const id = `${name}-${key}`;
      queue.record({ id, state: 'STARTED', name: 'shop.pay', args: text(), kwargs: text() });
      queue.record({ id, state: 'SUCCESS', result: text(), detail: text() });
    }
  }
  for (const [index, shape] of SHAPES.entries()) {
    for (let round = 0; round < 8; round += 1) {
      const error = new Error(shape(canary()));
      error.stack = `Error: ${shape(canary())}\n    at pay (${shape(canary())})`;
      const id = `shape-${index}-${round}`;
      queue.record({ id, state: 'FAILURE', name: 'shop.pay', args: shape(canary()), error });
    }
  }
  return { queue, count: () => count };
}

faultCase(50, 'secrets stand in every field, in every notation, and in every address', async (bench) => {
  const logs = captureLogs();
  const { queue, count } = recordSecrets();
  const port = await freePort();
  const url = `redis://user:canary-of-url-secret@127.0.0.1:${port}/0`;
  const addresses = {
    name: 'memory',
    listComponents: () => [
      {
        key: 'broker',
        name: 'Redis',
        enabled: true,
        status: 'down' as const,
        url: `${url}?password=canary-of-query-secret`,
        config: { url, password: 'canary-of-config-secret', hints: [`Set ${url}.`] },
      },
    ],
  };
  const metrics = `http://user:canary-of-metrics-secret@127.0.0.1:${port}/metrics`;
  const host = await bench.serve({ sources: { ...queue, components: addresses }, metrics });
  const away = await bench.serve({ sources: celerySources({ broker: url, backend: url }) });
  const texts: string[] = [];
  const read = async (path: string, base = host): Promise<void> => {
    const { headers, text } = await base.get(path);
    texts.push(JSON.stringify(headers), text);
  };
  const { body } = await host.get<TasksBody>('/api/tasks/?limit=1000');
  expect(body.tasks.length).toBeGreaterThan(70);
  for (const { task_id: id } of body.tasks) {
    for (const rest of ['', 'graph/', 'graph/updates/']) await read(`/api/tasks/${id}/${rest}`);
  }
  for (const path of ['/api/tasks/?limit=1000', '/api/events/latest/?limit=1000', '/api/workers/']) {
    await read(path);
    await read(path, away);
  }
  for (const path of ['/metrics', '/healthcheck', '/api/components/', '/api/beat/schedules/']) {
    await read(path);
    await read(path, away);
  }
  // A search finds none of them either.
  expect((await host.get<TasksBody>('/api/tasks/?q=canary')).body.tasks).toEqual([]);
  const stream = await askStream(host.base, '/api/events/latest/?limit=1000');
  await until(() => stream.messages.length > 0);
  texts.push(stream.text());
  stream.close();
  await until(() => stream.isOver());
  await until(() => logs.length > 0);
  bench.figure('secrets', count());
  expect(count()).toBeGreaterThan(200);
  const seen = [...texts, ...logs].flatMap((text) => text.match(/.{0,60}canary.{0,30}/) ?? []);
  expect(seen).toEqual([]);
  expect(texts.join('')).toContain('***');
});
