import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { otherNode } from '../helpers/other-node.ts';
import { installed, pack } from './packed.ts';

const packed = pack();
const ENTRIES = ['', '/bullmq', '/celery', '/memory', '/node', '/postgres', '/sqlite', '/testing'];

/** Makes this Node say that it is an old one, and lack what an old one lacks. */
const OLD_NODE = `Object.defineProperty(process.versions, 'node', { value: '18.20.8' });
delete Array.prototype.toReversed;`;

const FORMS: Readonly<Record<string, (entry: string) => string>> = {
  'app.mjs': (entry) =>
    `await import('express-task-monitor${entry}').catch(({ message }) => console.log(message));`,
  'app.cjs': (entry) =>
    `try { require('express-task-monitor${entry}'); } catch ({ message }) { console.log(message); }`,
};

/** What each entry says when it is imported. */
function messagesOn(node: string, options: readonly string[]): Promise<readonly string[]>[] {
  return Object.entries(FORMS).map(([name, form]) => {
    const project = packed.consumer({
      files: { 'old.cjs': OLD_NODE, [name]: ENTRIES.map(form).join('\n') },
      packages: { express: installed('express'), debug: installed('debug'), croner: installed('croner') },
    });
    return new Promise((resolve) => {
      execFile(node, [...options, name], { cwd: project }, (_, stdout, stderr) =>
        resolve([...stdout.trim().split('\n'), ...(stderr === '' ? [] : [stderr])]),
      );
    });
  });
}

/** What is imported by name from the modules of Node. Node 16.0 has all of it; import what is newer as a property. */
const NODE_16: Readonly<Record<string, readonly string[]>> = {
  assert: ['AssertionError'],
  crypto: ['createHash', 'randomBytes', 'randomUUID', 'timingSafeEqual'],
  events: ['EventEmitter', 'once', 'setMaxListeners'],
  fs: ['readFileSync'],
  http: ['STATUS_CODES', 'createServer', 'request', 'validateHeaderName', 'validateHeaderValue'],
  https: ['request'],
  net: ['BlockList', 'Socket', 'isIP', 'isIPv4'],
  os: ['hostname'],
  path: ['dirname', 'join', 'resolve', 'sep'],
  process: ['nextTick'],
  stream: ['Readable', 'Writable'],
  'timers/promises': ['setImmediate', 'setTimeout'],
  url: ['fileURLToPath'],
  util: ['inspect', 'isDeepStrictEqual', 'promisify'],
  worker_threads: ['Worker'],
  zlib: ['brotliDecompress', 'brotliDecompressSync', 'gzip', 'inflateSync'],
};

const sentence = (version: string): string =>
  `express-task-monitor needs Node 20.19 or later; this is Node ${version}.`;

describe('a Node that is too old', () => {
  it('is named by each entry when it is imported, with the version that is needed', async () => {
    for (const messages of await Promise.all(messagesOn(process.execPath, ['-r', './old.cjs']))) {
      expect(messages).toEqual(ENTRIES.map(() => sentence('18.20.8')));
    }
  });

  for (const major of [16, 18] as const) {
    const node = otherNode(major);
    const reason = existsSync(node) ? '' : ' (skipped: .ci/run installs other versions of Node)';
    it.skipIf(reason)(`is named as Node ${major}${reason}`, async () => {
      for (const messages of await Promise.all(messagesOn(node, []))) {
        expect(messages).toEqual(
          ENTRIES.map(() =>
            expect.stringMatching(
              /^express-task-monitor needs Node 20\.19 or later; this is Node 1[68]\.[\d.]+\.$/,
            ),
          ),
        );
      }
    });
  }

  // An ES module that imports by name what a module of an old Node does not export fails before any code runs.
  it('exports all that is imported by name from its own modules', () => {
    const strays = packed.files
      .filter((path) => /^dist\/.+\.js$/.test(path) && path !== 'dist/page.js')
      .map((path) => readFileSync(join(packed.folder, path), 'utf8'))
      .flatMap((text) => [
        ...text.matchAll(/^import (?:\w+, )?\{ ([^}]+) \} from ['"](?:node:)?([\w/]+)['"];$/gm),
      ])
      .filter(([, , module = '']) => !['croner', 'debug', 'express'].includes(module))
      .flatMap(([, list = '', module = '']) =>
        list
          .split(', ')
          .map((name) => name.replace(/ as .+/, ''))
          .filter((name) => NODE_16[module]?.includes(name) !== true)
          .map((name) => `${module}: ${name}`),
      );
    expect(strays).toEqual([]);
  });
});
