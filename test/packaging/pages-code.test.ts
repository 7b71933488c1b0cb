import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { firstOf } from '../helpers/cases.ts';
import { sqliteMissing, sqliteNode } from '../helpers/other-node.ts';
import { redisMissing, startRedis } from '../helpers/redis-server.ts';
import { codeBlocks, PAGES } from './code-blocks.ts';
import { installed, pack } from './packed.ts';

const run = promisify(execFile);
const packed = pack();

const redis = redisMissing === null ? await startRedis() : null;
afterAll(() => redis?.close());

/** Runs a block as it stands, except that its server takes a free port, and asks that server. */
const HARNESS = `
import { once } from 'node:events';
import { get } from 'node:http';
import { Server } from 'node:net';

const MOUNT = '/monitor/';
const servers = [];
const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  servers.push(this);
  return listen.call(this, 0, '127.0.0.1', ...args.filter((arg) => typeof arg === 'function'));
};
await import('./block.mjs');
const statuses = {};
for (const server of servers) {
  if (!server.listening) await once(server, 'listening');
  for (const path of ['api/tasks/', 'api/components/', 'metrics']) {
    const [response] = await once(
      get({ port: server.address().port, path: MOUNT + path, agent: false }),
      'response',
    );
    statuses[path] = response.statusCode;
    response.resume();
  }
  server.close();
  server.closeAllConnections();
}
if (servers.length > 0) console.log('statuses ' + JSON.stringify(statuses));
// A queue of the host's own keeps its process alive; nothing of ours does.
if (servers.length > 0 || HAS_QUEUE) process.exit();
`;

/** What `api/tasks/` answers, by what the block gives it. */
function expectedStatus(text: string): number {
  if (text.includes('request.user?.')) return 403;
  if (text.includes('memorySources(') || text.includes('bullmqSources(') || text.includes('selectTasks('))
    return 200;
  // The first answer comes before the connection does.
  return text.includes('celerySources(') ? 503 : 501;
}

/** Blocks are written for a Redis of everybody's own. */
function onRedis(text: string): string {
  if (redis === null) return text;
  return text
    .replaceAll(/redis:\/\/(?:localhost|127\.0\.0\.1):6379/g, redis.url(0).replace(/\/0$/, ''))
    .replaceAll('port: 6379', `port: ${redis.port}`);
}

const hasQueue = (text: string): boolean => text.includes("from 'bullmq'");
const hasSqlite = (text: string): boolean => text.includes('sqliteStore(');

/** A file of a recipe, by its path: it needs packages of its own, and `test/hosts` runs it. */
const isRecipe = (text: string): boolean => /^\/\/ \S+\.\w+\n/.test(text);

describe('the code of the pages', () => {
  const blocks = firstOf(PAGES)
    .flatMap(codeBlocks)
    .filter(({ language, text }) => language === 'js' && !isRecipe(text));

  it.for(blocks)('runs as it stands at $where', async ({ text }, { skip }) => {
    skip(redisMissing !== null && hasQueue(text), redisMissing ?? '');
    skip(sqliteMissing !== null && hasSqlite(text), sqliteMissing ?? '');
    const project = packed.consumer({
      files: {
        'block.mjs': onRedis(text),
        'harness.mjs': `const HAS_QUEUE = ${hasQueue(text)};\n${HARNESS}`,
      },
      packages: {
        express: installed('express'),
        croner: installed('croner'),
        debug: installed('debug'),
        redis: installed('redis'),
        amqplib: installed('amqplib'),
        bullmq: installed('bullmq'),
        ioredis: installed('ioredis'),
        nodemailer: installed('nodemailer'),
        pg: installed('pg'),
        'prom-client': installed('prom-client'),
        'http-proxy-middleware': installed('http-proxy-middleware'),
      },
    });
    const node = hasSqlite(text) ? sqliteNode : process.execPath;
    const { stdout, stderr } = await run(node, ['harness.mjs'], {
      cwd: project,
      timeout: 50_000,
    });
    // Some pages name an exporter, a Redis or a database that is not there. Node 22 warns of its SQLite.
    const printed = stderr
      .split('\n')
      .filter((line) => line && !/_UNAVAILABLE|_MONITOR_STORE|--trace-warnings|Warning: SQLite/.test(line));
    expect(printed).toEqual([]);
    if (!text.includes('app.listen')) return;
    const statuses = JSON.parse(stdout.split('statuses ')[1] ?? '{}') as Record<string, number>;
    const status = expectedStatus(text);
    const refusal = status === 401 || status === 403 ? status : null;
    expect(refusal === null ? [200, status] : [refusal]).toContain(statuses['api/tasks/']);
    expect(statuses['api/components/']).toBe(refusal ?? 200);
    const scraped = text.includes('metrics:') ? [200, 503] : [refusal ?? 404];
    expect(scraped).toContain(statuses.metrics);
  });
});
