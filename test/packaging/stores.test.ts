import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { otherNode } from '../helpers/other-node.ts';
import { postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';
import { installed, pack } from './packed.ts';

const run = promisify(execFile);
const packed = pack();

/** Records a task, and lists with another source what this run and those before it recorded. */
const BODY = `
async function main() {
  // Nothing of ours keeps a process alive.
  const alive = setInterval(() => {}, 1000);
  const queue = memorySources({ name: 'jobs', store: openStore() });
  const reader = memorySources({ name: 'jobs', store: openStore() });
  const signal = new AbortController().signal;
  queue.record({ id: process.argv[2], state: 'SUCCESS', name: 'mail.send', kwargs: { api_key: 'secret' } });
  let ids = [];
  // Stores are opened in the background, and written about once a second.
  for (let tries = 0; tries < 500 && ids.length < Number(process.argv[3]); tries += 1) {
    const list = async () => reader.tasks.listTasks(${JSON.stringify(queryOf())}, { signal });
    const page = await list().catch(() => null);
    ids = (page?.tasks ?? []).map(({ id }) => id).sort();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await Promise.all([queue.close(), reader.close()]);
  await end();
  clearInterval(alive);
  console.log(ids.join());
}
main();
`;

const SQLITE = `
const openStore = () => sqliteStore('monitor.db');
const end = () => {};
`;
const POSTGRES = `
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
pool.on('error', console.error);
const openStore = () => postgresStore(pool);
const end = () => pool.end();
`;

const MEMORY = ['{ memorySources }', 'express-task-monitor/memory'] as const;

type Import = readonly [names: string, from: string];

function programs(imports: readonly Import[], body: string): Readonly<Record<string, string>> {
  const esm = imports.map(([names, from]) => `import ${names} from '${from}';`);
  const cjs = imports.map(([names, from]) => `const ${names} = require('${from}');`);
  return {
    'app.mjs': [...esm, body, BODY].join('\n'),
    'app.cjs': [...cjs, body, BODY].join('\n'),
  };
}

/** Each run is another process, and one of them is CommonJS. @returns what the last one listed */
async function runInTurn(node: string, project: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  let printed = '';
  for (const [index, app] of ['app.mjs', 'app.cjs', 'app.mjs'].entries()) {
    const { stdout, stderr } = await run(node, [app, `run-${index}`, String(index + 1)], {
      cwd: project,
      env: { ...process.env, ...env },
      timeout: 50_000,
    });
    expect(stderr.replace(/.*ExperimentalWarning: SQLite.*\n.*\n/, '')).toBe('');
    printed = stdout.trim();
  }
  return printed;
}

describe('the packed stores', () => {
  for (const major of [22, 24] as const) {
    const node = otherNode(major);
    const missing = existsSync(node) ? null : '.ci/run installs other versions of Node';

    it.skipIf(missing)(
      titleUnless(missing, `keep a history in SQLite on Node ${major}, for ES modules and CommonJS`),
      async () => {
        const imports = [MEMORY, ['{ sqliteStore }', 'express-task-monitor/sqlite']] as const;
        const project = packed.consumer({
          files: programs(imports, SQLITE),
          packages: { debug: installed('debug'), express: installed('express') },
        });
        expect(await runInTurn(node, project)).toBe('run-0,run-1,run-2');
        expect(statSync(join(project, 'monitor.db')).mode & 0o777).toBe(0o600);
      },
    );
  }

  it.skipIf(postgresMissing)(
    titleUnless(postgresMissing, 'keep a history in PostgreSQL, for ES modules and CommonJS'),
    async () => {
      const server = await startPostgres();
      onTestFinished(() => server.close());
      const imports = [MEMORY, ['{ postgresStore }', 'express-task-monitor/postgres'], ['pg', 'pg']] as const;
      const project = packed.consumer({
        files: programs(imports, POSTGRES),
        packages: { debug: installed('debug'), express: installed('express'), pg: installed('pg') },
      });
      const printed = await runInTurn(process.execPath, project, { DATABASE_URL: server.url() });
      expect(printed).toBe('run-0,run-1,run-2');
    },
  );
});
