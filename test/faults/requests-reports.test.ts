/** Rows 51 to 55: what is told of the deployment, in logs and to who is not logged in. */
import { spawnSync } from 'node:child_process';
import createDebug from 'debug';
import { expect, onTestFinished, vi } from 'vitest';
import type { MonitorErrorContext, MonitorOptions } from '../../src/index.ts';
import type { ComponentsBody } from '../../src/wire.ts';
import { askMany } from '../helpers/ask-many.ts';
import { METHODS, sourcesWith } from '../router/hostile-values.ts';
import { createShop } from '../router/shop-sources.ts';
import { faultCase } from './kit/fault-case.ts';

const URLS = [
  'redis://:hunter2@db:6379/0?password=hunter2#hunter2',
  'rediss://someone:hunter2@db:6379',
  'amqp://someone:hunter2@mq//',
  'redis://:hunter2@a;redis://:hunter2@b',
  'sentinel://someone:p@ss:hunter2@db:26379',
  'unix:///run/redis.sock?password=hunter2',
  'https://someone:hunter2@db/?token=hunter2',
];

faultCase(
  51,
  `the process and ${URLS.length} addresses among the components`,
  async ({ serve, expectAnswer }) => {
    const shop = createShop();
    const part = { name: 'broker', enabled: true, status: 'up' } as const;
    shop.components = URLS.map((url, index) => ({ ...part, key: `c${index}`, pid: 100 + index, url }));
    const publicUrl = 'https://someone:hunter2@monitor.example/m?token=hunter2';
    const host = await serve({ sources: shop.sources, publicUrl });
    const { body, text } = await expectAnswer<ComponentsBody>(host, '/api/components/', { status: 200 });
    expect(text).not.toMatch(/hunter2|someone/);
    expect(body.web).toMatchObject({ pid: process.pid, url: 'https://monitor.example/m' });
    expect(body['shop.c0']).toMatchObject({ pid: 100, url: 'redis://db:6379/0' });
    expect(body['shop.c2']?.url).toBe('amqp://mq//');
  },
);

/** Lines of the library's debug channel, from now until the test is over. */
function debugLines(): string[] {
  const lines: string[] = [];
  const { log } = createDebug;
  createDebug.log = (...parts: unknown[]) => void lines.push(parts.map(String).join(' '));
  createDebug.enable('express-task-monitor:error');
  onTestFinished(() => {
    createDebug.disable();
    createDebug.log = log;
  });
  return lines;
}

const INJECTIONS = [
  'a\r\nfake line',
  'a\nfake line',
  '\u001b[2J\u001b[31mred',
  '\u2028fake line',
  '\0',
  '\u009b31mred \u202eder \u2066',
  `${'x'.repeat(1_000_000)}`,
  'password=hunter2',
];

faultCase(
  52,
  `${INJECTIONS.length} messages that would forge or flood a log`,
  async ({ serve, expectAnswer }) => {
    const lines = debugLines();
    for (const message of INJECTIONS) {
      const sources = sourcesWith('workers', 'listWorkers', () => {
        throw new Error(message);
      });
      const host = await serve({ sources });
      await expectAnswer(host, '/api/workers/', { status: 503, code: 'source_unavailable' });
    }
    expect(lines).toHaveLength(INJECTIONS.length);
    for (const line of lines) {
      // Behind it `debug` may write how long ago the last one was, in colours.
      const said = line.slice(line.indexOf('shop listWorkers'), line.lastIndexOf('"') + 1);
      expect(said.length).toBeGreaterThan(20);
      expect(said.length).toBeLessThan(400);
      expect(said).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(said).not.toContain('hunter2');
    }
  },
);

const REQUESTS = 2_500;

faultCase(
  53,
  `${REQUESTS} failing requests`,
  async ({ serve, figure }) => {
    const lines = debugLines();
    const onError = vi.fn<(error: unknown, context: MonitorErrorContext) => void>();
    const sources = sourcesWith('workers', 'listWorkers', () => {
      throw new Error('down');
    });
    const { base } = await serve({ sources, onError, metrics: 'http://127.0.0.1:9/metrics' });
    const start = performance.now();
    const paths = Array.from({ length: REQUESTS }, (_, index) =>
      index % 5 === 0 ? '/metrics' : '/api/workers/',
    );
    const answers = await askMany(base, paths);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    // One line of each kind in 30 s; on a very slow machine one more has come due.
    const most = 2 * (1 + Math.floor((performance.now() - start) / 30_000));
    const own = lines.filter((line) => /listWorkers|metrics/.test(line));
    expect(own.length).toBeGreaterThan(0);
    expect(own.length).toBeLessThanOrEqual(most);
    expect(onError.mock.calls.length).toBe(own.length);
    figure('lines', own.length);
  },
  { timeout: 60_000 },
);

faultCase(
  54,
  'there is no token or password of ours whose comparison could be timed',
  async ({ express }) => {
    const names = ['token', 'password', 'auth', 'apiKey', 'secret', 'username'];
    for (const name of names) {
      const options = { [name]: 'hunter2' } as unknown as MonitorOptions;
      expect(() => express.createMonitorRouter(options)).toThrow(TypeError);
      expect(() => express.createMonitorRouter(options)).not.toThrow(/hunter2/);
    }
  },
);

/** What a process in production writes to its standard error when it makes this router twice. */
function warningsOf(options: string, environment: string): string {
  const script = `
    import { createMonitorRouter } from './src/index.ts';
    createMonitorRouter(${options}); createMonitorRouter(${options});`;
  const { stderr, status } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', script],
    { env: { ...process.env, NODE_ENV: environment }, encoding: 'utf8' },
  );
  expect(status).toBe(0);
  return stderr;
}

faultCase(
  55,
  'a monitor that anybody may see warns once, in production alone',
  async ({ serve, expectAnswer }) => {
    const warnings = warningsOf('{}', 'production');
    expect(warnings.match(/EXPRESS_TASK_MONITOR_UNGUARDED/g)).toHaveLength(1);
    expect(warnings).toContain('authorize: false');
    expect(warningsOf('{ authorize: false }', 'production')).not.toContain('UNGUARDED');
    expect(warningsOf('{}', 'test')).not.toContain('UNGUARDED');
    // A hook that says no is asked before any method of a source.
    const { sources, calls } = createShop();
    const host = await serve({ sources, authorize: () => false });
    for (const [, , path] of METHODS) await expectAnswer(host, path, { status: 403, code: 'forbidden' });
    expect(calls).toEqual({});
  },
  { timeout: 120_000 },
);
