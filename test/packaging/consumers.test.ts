import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { otherNode, TOOLS } from '../helpers/other-node.ts';
import { consumerProgram, EXPECTED } from './consumer-program.ts';
import { installed, pack } from './packed.ts';

const run = promisify(execFile);
const packed = pack();

const NODES: Readonly<Record<string, string>> = {
  [`Node ${process.versions.node.split('.')[0]}`]: process.execPath,
  'Node 22': otherNode(22),
  'Node 24': otherNode(24),
  'Node 26': otherNode(26),
};
/** A program ends by itself within seconds: one whose timer or socket is left over does not. */
const LIMIT_MS = 200_000;
vi.setConfig({ testTimeout: 2 * LIMIT_MS });

/** The oldest Node that `engines` allows. */
const OLDEST_NODE = 'Node 20.19.0';
const NODE_PATHS: typeof NODES = { ...NODES, [OLDEST_NODE]: otherNode(20) };
const EXPRESSES: Readonly<Record<string, string>> = {
  'Express 5': installed('express'),
  'Express 4': installed('express4'),
  'Express 4.18.0': join(TOOLS, 'express418'),
};
const PROXIES: Readonly<Record<string, string>> = {
  'http-proxy-middleware 3': installed('http-proxy-middleware'),
  'http-proxy-middleware 4': installed('http-proxy-middleware4'),
};

/** Versions that hosts have together: each Node with each Express, and each proxy with each Node. */
const rows = [
  ...Object.keys(NODES).flatMap((node) => [
    { node, express: 'Express 5', proxy: 'http-proxy-middleware 4' },
    { node, express: 'Express 4', proxy: 'http-proxy-middleware 3' },
    { node, express: 'Express 4.18.0', proxy: 'http-proxy-middleware 3' },
  ]),
  { node: OLDEST_NODE, express: 'Express 5', proxy: 'http-proxy-middleware 3' },
];

describe('an app that has the packed package installed', () => {
  for (const { node, express, proxy } of rows) {
    const absent = [NODE_PATHS[node], EXPRESSES[express]].filter((path) => !path || !existsSync(path));
    const title = `works on ${node} with ${express} and ${proxy}, as ES module and as CommonJS`;
    const reason = absent.length > 0 ? ' (skipped: .ci/run installs other versions of Node and Express)' : '';

    it.skipIf(reason)(`${title}${reason}`, async () => {
      const project = packed.consumer({
        files: { 'app.mjs': consumerProgram('esm'), 'app.cjs': consumerProgram('cjs') },
        packages: {
          express: EXPRESSES[express] ?? '',
          'http-proxy-middleware': PROXIES[proxy] ?? '',
          croner: installed('croner'),
          debug: installed('debug'),
          redis: installed('redis'),
          ioredis: installed('ioredis'),
        },
      });
      for (const app of ['app.mjs', 'app.cjs']) {
        const { stdout, stderr } = await run(NODE_PATHS[node] ?? '', ['--unhandled-rejections=strict', app], {
          cwd: project,
          timeout: LIMIT_MS,
        });
        expect(JSON.parse(stdout)).toEqual(EXPECTED);
        expect(
          stderr
            .split('\n')
            .filter(
              (line) =>
                line && !/DEP0060|_UNAVAILABLE|Not checked: |--trace-(?:deprecation|warnings)/.test(line),
            ),
        ).toEqual([]);
      }
    });
  }
});

describe('importing the packed package', () => {
  const others = ['/bullmq', '/celery', '/client', '/memory', '/node', '/postgres', '/sqlite', '/testing'];
  const hosts = {
    'with Express': { entries: ['', ...others], packages: { express: installed('express') } },
    'without Express': { entries: others, packages: {} },
  };
  const forms = {
    'as ES modules': (entry: string) => `import 'express-task-monitor${entry}';`,
    'as CommonJS': (entry: string) => `require('express-task-monitor${entry}');`,
  };

  const rows = Object.entries(hosts).flatMap(([host, { entries, packages }]) =>
    Object.entries(forms).map(([title, form]) => ({ title, form, host, entries, packages })),
  );

  it.each(rows)(
    'does nothing by itself, and needs neither a client of Redis nor a proxy, $title, $host',
    async ({ form, entries, packages }) => {
      const name = form('').startsWith('import') ? 'app.mjs' : 'app.cjs';
      const project = packed.consumer({
        files: {
          [name]: `${entries.map(form).join('\n')}\nconsole.log(process.getActiveResourcesInfo().join());`,
        },
        packages: { ...packages, debug: installed('debug'), croner: installed('croner') },
      });
      const { stdout, stderr } = await run(process.execPath, [name], { cwd: project, timeout: LIMIT_MS });
      // Standard output is a pipe or a file; nothing else may be open.
      expect(
        stdout
          .trim()
          .split(',')
          .filter((resource) => resource && !/^(Pipe|TTY|FS|Close)/.test(resource)),
      ).toEqual([]);
      expect(stderr).toBe('');
    },
  );
});
