import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { among } from '../helpers/cases.ts';
import { TOOLS } from '../helpers/other-node.ts';
import { installed, pack } from './packed.ts';

const run = promisify(execFile);
const packed = pack();

const COMPILERS: Readonly<Record<string, string>> = {
  'TypeScript 5.9': installed('typescript'),
  'TypeScript 6.0': join(TOOLS, 'typescript6'),
  'TypeScript 7.0': join(TOOLS, 'typescript7'),
};
const EXPRESS_TYPES: Readonly<Record<string, string>> = {
  'the types of Express 5': installed('@types/express'),
  'the types of Express 4': join(TOOLS, 'types-express4'),
};

const NO_EXPRESS = 'no types of Express';
/** Projects that are also compiled without Express: a way of finding modules each. */
const PLAIN_NODE = ['an ES module with nodenext', 'CommonJS with module commonjs'];

/** Uses names of every entry in the way that a host does, with wrong uses that must not compile. */
const HOST = `
import express from 'express';
import { createMonitorRouter, MonitorError } from 'express-task-monitor';
import type { MonitorOptions, MonitorSources, Task, TaskSource } from 'express-task-monitor';
import { bullmqSources } from 'express-task-monitor/bullmq';
import type { BullMQQueue } from 'express-task-monitor/bullmq';
import { celerySources } from 'express-task-monitor/celery';
import { createMonitorClient } from 'express-task-monitor/client';
import type { GraphState, TasksBody } from 'express-task-monitor/client';
import { memorySources } from 'express-task-monitor/memory';
import { postgresStore } from 'express-task-monitor/postgres';
import type { HistoryStore } from 'express-task-monitor/postgres';
import { sqliteStore } from 'express-task-monitor/sqlite';
import { sourceContract } from 'express-task-monitor/testing';
import type { Pool } from 'pg';
import type { Sql } from 'postgres';

const tasks: TaskSource = {
  name: 'own',
  listTasks: async ({ limit }) => ({ tasks: rows.slice(0, limit), next: null, total: rows.length }),
  getTask: (id) => rows.find((row) => row.id === id) ?? null,
};
const rows: Task[] = [{ id: '1', state: 'SUCCESS', runtime: 1 }];
const queue = memorySources({ name: 'jobs' });
queue.record({ id: '1', state: 'PROGRESS', timestamp: new Date() });
const celery: MonitorSources = celerySources({ broker: 'redis://localhost', settings: { timezone: 'UTC' } });
declare const jobs: BullMQQueue;
const bullmq: MonitorSources = bullmqSources({ queues: [jobs] });
void bullmqSources({ connection: { host: 'localhost', port: 6379 }, prefix: '{bull}' }).close();
void bullmq;
declare const pool: Pool;
declare const sql: Sql;
const stores: HistoryStore[] = [postgresStore(pool, { schema: 'monitor' }), postgresStore(sql), sqliteStore('a.db')];
for (const store of stores) memorySources({ store });
void celerySources({ broker: 'redis://localhost', store: sqliteStore('a.db'), collect: true }).close();
const options: MonitorOptions = {
  sources: { ...celery, tasks },
  authorize: (request, route) => route === 'healthcheck' || request.headers.authorization === 'x',
};
const monitor = createMonitorRouter(options);
express().use('/monitor', monitor);
void monitor.close();
for (const { name, run } of sourceContract({ parts: ['tasks'], create: () => ({ sources: { tasks } }) })) {
  void run().then(() => name.length);
}
const client = createMonitorClient('http://localhost:3000/monitor');
const page: Promise<TasksBody> = client.tasks({ state: ['FAILURE'], limit: 10 });
void page.then(({ tasks }) => tasks[0]?.runtime?.toFixed());
async function follow(): Promise<GraphState | null> {
  for await (const graph of client.watchGraph('1', {}, { signal: AbortSignal.timeout(1) })) return graph;
  return null;
}
void follow();
throw new MonitorError('forbidden');

// @ts-expect-error an option that does not exist
createMonitorRouter({ source: {} });
// @ts-expect-error a sort that does not exist
void client.tasks({ sort: 'colour' });
// @ts-expect-error a queue that is none
bullmqSources({ queues: ['mail'] });
// @ts-expect-error a store that is a path
memorySources({ store: 'monitor.db' });
// @ts-expect-error a client that is an address
postgresStore('postgres://localhost');
// @ts-expect-error a time that is no Date
const wrong: Task = { id: '1', state: 'SUCCESS', started: '2026-11-21' };
void wrong;
`;

/** Uses the entry for hosts without Express: nothing of it may need the types of Express. */
const NODE_HOST = `
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createMonitorHandler, MonitorError } from 'express-task-monitor/node';
import type { Authorize, MonitorHandler, MonitorOptions, Task } from 'express-task-monitor/node';
import { memorySources } from 'express-task-monitor/memory';

interface Asking extends IncomingMessage {
  user?: { role: string };
}
const admins: Authorize<Asking> = ({ user }, route) => route === 'healthcheck' || user?.role === 'admin';
const options: MonitorOptions = { sources: memorySources(), authorize: ({ headers }) => headers.cookie === 'x' };
const handlers: MonitorHandler[] = [
  createMonitorHandler(),
  createMonitorHandler({ ...options, basePath: '/monitor' }),
  createMonitorHandler({ authorize: admins }),
  createMonitorHandler({ authorize: (request: Asking) => request.user?.role === 'admin' }),
];
for (const handler of handlers) {
  createServer(handler);
  createServer((request, response) => handler(request, response, () => response.end()));
  void handler.close();
}
const task: Task = { id: '1', state: 'SUCCESS' };
throw new MonitorError('forbidden', task.id);

// @ts-expect-error a method of Express
createMonitorHandler({ authorize: (request) => request.get('cookie') === 'x' });
`;

const STRICT = {
  target: 'ES2022',
  strict: true,
  exactOptionalPropertyTypes: true,
  esModuleInterop: true,
  noEmit: true,
  types: ['node'],
  // The compiler's own declarations are none of ours, and checking them takes a third of the time.
  skipDefaultLibCheck: true,
};

const PROJECTS: Readonly<Record<string, { readonly type: string; readonly options: object }>> = {
  'an ES module with nodenext': { type: 'module', options: { module: 'nodenext' } },
  'CommonJS with nodenext': { type: 'commonjs', options: { module: 'nodenext' } },
  'an ES module with a bundler': {
    type: 'module',
    options: { module: 'esnext', moduleResolution: 'bundler' },
  },
  // Its way of finding modules is the oldest one in 5.9, which knows no exports.
  'CommonJS with module commonjs': { type: 'commonjs', options: { module: 'commonjs' } },
};

/** Every project with every compiler; the older types of Express with one. */
const rows = Object.keys(COMPILERS).flatMap((compiler) =>
  Object.keys(PROJECTS).flatMap((project) =>
    [...Object.keys(EXPRESS_TYPES), NO_EXPRESS]
      .filter((types) => types.endsWith('5') || compiler.endsWith('5.9'))
      .filter((types) => types !== NO_EXPRESS || PLAIN_NODE.includes(project))
      .map((types) => ({ compiler, project, types })),
  ),
);

type Row = (typeof rows)[number];

/** `npm test` tries one compiler, each way of finding modules once. */
const isSample = ({ compiler, project, types }: Row): boolean =>
  compiler.endsWith('5.9') && PLAIN_NODE.includes(project) && types.endsWith('5');

/** A project of a host, not yet compiled. */
function makeProject(project: string, types: string): string {
  const { type, options } = PROJECTS[project] ?? {};
  const compilerOptions = { ...STRICT, ...options };
  const express = {
    express: installed('express'),
    '@types/express': EXPRESS_TYPES[types] ?? '',
  };
  return packed.consumer({
    files: {
      'package.json': JSON.stringify({ name: 'host', private: true, type }),
      'host.ts': types === NO_EXPRESS ? NODE_HOST : HOST,
      'tsconfig.json': JSON.stringify({ compilerOptions, files: ['host.ts'] }),
    },
    packages: {
      ...(types === NO_EXPRESS ? {} : express),
      croner: installed('croner'),
      debug: installed('debug'),
      'http-proxy-middleware': installed('http-proxy-middleware'),
      '@types/node': installed('@types/node'),
      '@types/pg': installed('@types/pg'),
      postgres: installed('postgres'),
    },
  });
}

/** What a program prints, also when it ends with an error. */
async function outputOf(...args: readonly string[]): Promise<string> {
  // Version 7 is a Go program, and ends before collecting garbage would gain anything.
  const env = { ...process.env, GOGC: 'off' };
  return run(process.execPath, args, { timeout: 240_000, env }).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}

/** Compiles projects. @returns the errors of each, by its folder */
async function compile(compiler: string, folders: readonly string[]): Promise<Record<string, string>> {
  if (existsSync(join(compiler, 'lib', 'typescript.js'))) {
    const script = join(import.meta.dirname, 'compile.mjs');
    return JSON.parse(await outputOf(script, compiler, ...folders));
  }
  // From version 7 on there is only the program. It is quick, and checks all declarations of all packages.
  const tsc = join(compiler, 'bin', 'tsc');
  const outputs = folders.map(async (folder) => [folder, await outputOf(tsc, '-p', folder)] as const);
  return Object.fromEntries(await Promise.all(outputs));
}

const isThere = (path: string | undefined): boolean => existsSync(path ?? '');

describe('the types of the packed package', () => {
  for (const [name, compiler] of Object.entries(COMPILERS)) {
    const cases = rows.filter((row) => row.compiler === name && among(isSample(row)));
    if (cases.length === 0) continue;
    const present = cases.filter(
      ({ types }) => isThere(compiler) && (types === NO_EXPRESS || isThere(EXPRESS_TYPES[types])),
    );
    const folders = new Map<object, string>();
    let errors: Readonly<Record<string, string>> = {};

    describe.skipIf(present.length === 0)(name, () => {
      beforeAll(async () => {
        for (const row of present) folders.set(row, makeProject(row.project, row.types));
        errors = await compile(compiler, [...folders.values()]);
      }, 300_000);

      for (const row of cases) {
        const reason = present.includes(row)
          ? ''
          : ' (skipped: .ci/run installs other versions of TypeScript and of the types)';
        it.skipIf(reason)(`compile in ${row.project}, with ${name} and ${row.types}${reason}`, () => {
          expect(errors[folders.get(row) ?? '']).toBe('');
        });
      }
    });
  }
});
