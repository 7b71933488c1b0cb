/**
 * A host in a process of its own whose history is kept in SQLite, since not every Node that runs the tests has it. It is
 * asked over IPC to record tasks and to count those that are stored.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, onTestFinished } from 'vitest';
import { ask } from '../../helpers/ask.ts';
import { sqliteNode } from '../../helpers/other-node.ts';
import { endWithProcess, until } from '../../helpers/redis-server.ts';
import { ROOT } from '../../packaging/packed.ts';
import type { FaultBench } from './fault-case.ts';
import { BEFORE, IN_MEMORY, type KeptHistory, recordFor } from './kept-history.ts';

const THREAD = new URL('../../../src/stores/sqlite/sqlite-thread.ts', import.meta.url);

const SCRIPT = `
  import { DatabaseSync } from 'node:sqlite';
  import express from 'express';
  import { createMonitorRouter } from './src/index.ts';
  import { memorySources } from './src/memory.ts';
  import { createSqliteStore } from './src/stores/sqlite/sqlite-store.ts';
  const { path, thread, maxTasks } = JSON.parse(process.env.KEPT_HISTORY);
  const store = createSqliteStore({
    ...{ path, thread: new URL(thread), isReadOnly: false, deployment: null },
    retention: { taskDays: 7, rollupDays: 90 },
  });
  const sources = memorySources({ store, retention: { maxTasks } });
  const app = express();
  app.use('/monitor', createMonitorRouter({ sources, authorize: false, onError() {} }));
  app.get('/canary', (_request, response) => void response.end('sings'));
  const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
  let number = 0;
  function record() {
    const id = 'task-' + number;
    sources.record({ id, state: 'STARTED', name: 'job.' + (number % 5), args: [number] });
    sources.record({ id, state: number % 10 === 0 ? 'FAILURE' : 'SUCCESS', result: number });
    number++;
  }
  function count() {
    try {
      const database = new DatabaseSync(path, { readOnly: true });
      try {
        const text = "SELECT count(*) AS count FROM monitor_task WHERE state IN ('SUCCESS', 'FAILURE')";
        return database.prepare(text).get().count;
      } finally {
        database.close();
      }
    } catch {
      return -1;
    }
  }
  process.on('message', async ({ more, close }) => {
    if (close) {
      await sources.close();
      process.exit(0);
    }
    if (more === undefined) process.send({ count: count() });
    else for (let done = 0; done < more; done++) record();
  });
  process.on('disconnect', () => process.exit(1));
`;

let hosts = 0;

/** A history in SQLite. */
export interface SqliteHistory extends KeptHistory {
  /** Of the file. */
  readonly path: string;
  recordFor(ms: number): Promise<void>;
  /** Waits until so many tasks are stored. Default: all. @returns milliseconds */
  untilStored(count?: number): Promise<number>;
}

/** @param folder where the file is. Default: one of its own */
export async function sqliteHistory(bench: FaultBench, folder = ownFolder()): Promise<SqliteHistory> {
  const path = join(folder, 'monitor.db');
  const child = await startHost(bench, path);
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }];
  onTestFinished(() => end(child));
  const url = `http://127.0.0.1:${port}`;
  bench.watch(url);
  let recorded = 0;
  const history: KeptHistory = {
    host: { get: (target, options) => ask(`${url}/monitor`, target, options) },
    recorded: () => recorded,
    record(more) {
      recorded += more;
      child.send({ more });
    },
    async stored() {
      const answered = once(child, 'message') as Promise<[{ readonly count: number }]>;
      child.send({});
      return (await answered)[0].count;
    },
  };
  const kept: SqliteHistory = {
    ...history,
    path,
    recordFor: (ms) => recordFor(history, ms),
    async untilStored(count) {
      const start = performance.now();
      await until(async () => (await history.stored()) === (count ?? recorded), 60_000);
      return Math.round(performance.now() - start);
    },
  };
  kept.record(BEFORE);
  await kept.untilStored();
  return kept;
}

async function startHost({ express }: FaultBench, path: string): Promise<ChildProcess> {
  // A file: the flags of a program that comes by standard input are not for the threads. Within the checkout, where
  // Express is found.
  const program = join(ROOT, '.cache', `fault-sqlite-${process.pid}-${++hosts}.mjs`);
  onTestFinished(() => rmSync(program, { force: true }));
  await build({
    stdin: { contents: SCRIPT, resolveDir: ROOT },
    bundle: true,
    packages: 'external',
    alias: express.name === 'Express 4' ? { express: 'express4' } : {},
    platform: 'node',
    format: 'esm',
    outfile: program,
  });
  const silent = ['ExperimentalWarning', 'ExpressTaskMonitorWarning'];
  const flags = silent.map((name) => `--disable-warning=${name}`);
  const child = spawn(sqliteNode, [...flags, program], {
    env: {
      ...process.env,
      KEPT_HISTORY: JSON.stringify({ path, thread: THREAD.href, maxTasks: IN_MEMORY }),
    },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  endWithProcess(child);
  return child;
}

/** The host has survived. */
async function end(child: ChildProcess): Promise<void> {
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
  const exited = once(child, 'exit');
  child.send({ close: true });
  expect(await exited).toEqual([0, null]);
}

function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-sqlite-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs a program that uses the file beside the host, until it is ended. It prints a line once it does. */
export async function useSqlite(path: string, program: string): Promise<() => Promise<void>> {
  const text = `
    import { DatabaseSync } from 'node:sqlite';
    const database = new DatabaseSync(${JSON.stringify(path)}, { timeout: 10_000 });
    ${program}
    console.log('ready');
    process.stdin.resume().on('end', () => {
      database.close();
      process.exit();
    });`;
  const child = spawn(sqliteNode, ['--input-type=module', '--eval', text], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  endWithProcess(child);
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await exited;
  };
  onTestFinished(stop);
  await once(child.stdout, 'data');
  return stop;
}
