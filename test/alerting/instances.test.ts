/** Two processes of a host with one store, of which one tells the host, and is killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FindingNotice } from '../../src/index.ts';
import { ROOT } from '../helpers/bundle-script.ts';
import { sqliteMissing, sqliteNode } from '../helpers/other-node.ts';
import { postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';
import { receivePosts } from './receivers.ts';

/** What the receiver gets. */
interface Told extends FindingNotice {
  readonly pid: number;
}

/** Does what it reads: a line is the JSON of a record. */
const SCRIPT = `
import { createInterface } from 'node:readline';
import { createMonitorRouter } from 'express-task-monitor';
import { memorySources } from 'express-task-monitor/memory';
const [receiver, engine, place] = process.argv.slice(2);
const { sqliteStore, postgresStore } = await import('express-task-monitor/' + engine);
const store = engine === 'sqlite'
  ? sqliteStore(place)
  : postgresStore(new (await import('pg')).default.Pool({ connectionString: place }));
const queue = memorySources({ name: 'jobs', store });
createMonitorRouter({
  sources: queue,
  authorize: false,
  async onFinding(finding) {
    const body = JSON.stringify({ ...finding, pid: process.pid });
    const response = await fetch(receiver, { method: 'POST', body });
    if (!response.ok) throw new Error('not taken');
  },
});
createInterface({ input: process.stdin }).on('line', (line) => queue.record(JSON.parse(line)));
`;

interface Instance {
  readonly child: ChildProcess;
  record(record: object): void;
}

async function tellAndKill(engine: string, place: string, node: string): Promise<void> {
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  // Within the checkout, where the package finds itself by its name.
  const folder = mkdtempSync(join(ROOT, '.cache', 'instances-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const script = join(folder, 'instance.mjs');
  writeFileSync(script, SCRIPT);
  const receiver = await receivePosts();
  onTestFinished(() => receiver.close());
  const told = (): Told[] => receiver.received.map(({ body }) => JSON.parse(body) as Told);
  const lines = (): string[] => told().map(({ status, subject }) => `${status} ${subject}`);

  function start(): Instance {
    const args = [script, `http://127.0.0.1:${receiver.port}/`, engine, place];
    const child = spawn(node, args, { cwd: ROOT, stdio: ['pipe', 'ignore', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    return { child, record: (record) => void child.stdin?.write(`${JSON.stringify(record)}\n`) };
  }

  const instances = [start(), start()];
  const timestamp = Date.now() - 25 * 60_000;
  const waits = { id: '1', state: 'PENDING', name: 'mail.send', queue: 'mail', timestamp };
  instances[0]?.record(waits);
  await until(() => lines().length > 0);
  const [first] = told();
  const teller = instances.find(({ child }) => child.pid === first?.pid);
  const other = instances.find(({ child }) => child.pid !== first?.pid);
  // By the time that something else is told, both have looked again.
  other?.record({ ...waits, id: '3', queue: 'sound' });
  await until(() => lines().length > 1, 120_000);
  expect(lines()).toEqual(['raised mail', 'raised sound']);
  teller?.child.kill('SIGKILL');
  if (teller) await once(teller.child, 'exit');
  // The one that is left takes over, and says nothing that was said before.
  other?.record({ ...waits, id: '2', queue: 'images' });
  await until(() => lines().length > 2, 120_000);
  expect(lines()).toEqual(['raised mail', 'raised sound', 'raised images']);
  other?.record({ id: '1', state: 'SUCCESS' });
  await until(() => lines().length > 3, 120_000);
  expect(lines()).toEqual(['raised mail', 'raised sound', 'raised images', 'cleared mail']);
  const [, , second, third] = told();
  expect([second?.pid, third?.pid]).toEqual([other?.child.pid, other?.child.pid]);
  expect(third).toMatchObject({ id: first?.id, since: first?.since });
}

describe('the host of two instances, of which one is killed', () => {
  it.skipIf(postgresMissing)(
    titleUnless(postgresMissing, 'hears of each finding once, over PostgreSQL'),
    async () => {
      const server = await startPostgres();
      onTestFinished(() => server.close());
      await tellAndKill('postgres', server.url(), process.execPath);
    },
    240_000,
  );

  it.skipIf(sqliteMissing)(
    titleUnless(sqliteMissing, 'hears of each finding once, over SQLite'),
    async () => {
      const folder = mkdtempSync(join(ROOT, '.cache', 'sqlite-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      await tellAndKill('sqlite', join(folder, 'monitor.db'), sqliteNode);
    },
    240_000,
  );
});
