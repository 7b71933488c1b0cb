import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const dist = fileURLToPath(new URL('../../dist/', import.meta.url));

/** Loads a source through both built entries. Counts, by entry, the works that a scheduler made before them gets. */
const PROGRAM = `
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
const key = Symbol.for('express-task-monitor.scheduler.1');
const esm = await import(pathToFileURL('${dist}memory.js').href);
const first = globalThis[key];
const cjs = createRequire(import.meta.url)('${dist}memory.cjs');
const second = globalThis[key];
const query = { limit: 1, after: null, states: [], conditions: [], causes: [], names: [], workers: [], queues: [], engineStates: [], rootId: null, parentId: null,
  groupId: null, q: 'x', search: () => { const end = performance.now() + 12; while (performance.now() < end); return true; },
  since: null, until: null, sort: 'timestamp', order: 'desc', scan: 20_000 };
const asked = [esm, cjs].map(({ memorySources }) => {
  const source = memorySources();
  for (const id of ['1', '2', '3']) source.record({ id, state: 'STARTED' });
  return source.tasks.listTasks(query, { signal: new AbortController().signal });
});
const waiting = first.waiting;
const totals = (await Promise.all(asked)).map(({ total }) => total);
console.log(JSON.stringify({ isShared: first !== undefined && first === second, waiting, totals }));
`;

it('is shared by the ESM and the CommonJS entries of one process', async () => {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', PROGRAM]);
  expect(JSON.parse(stdout)).toEqual({ isShared: true, waiting: 2, totals: [3, 3] });
});
