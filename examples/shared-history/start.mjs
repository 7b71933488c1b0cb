// Two instances of an app that share their history in PostgreSQL: node examples/shared-history/start.mjs
// DATABASE_URL: use that database and start none. PORT: of the first instance, 3000 if not given; the second has the
// next one.
import { fileURLToPath } from 'node:url';
import { findPostgres, HOW_TO_INSTALL, startPostgres } from '../shared/postgres.mjs';
import { fail, runProgram } from '../shared/run-example.mjs';

const INSTANCE = fileURLToPath(new URL('instance.mjs', import.meta.url));

if (process.env.DATABASE_URL === undefined && findPostgres() === null) fail(HOW_TO_INSTALL);

await runProgram(async ({ port, folder, processes }) => {
  const databaseUrl = process.env.DATABASE_URL ?? (await startPostgres(processes, folder));
  const urls = [];
  for (const [at, name] of ['blue', 'green'].entries()) {
    const instance = processes.start(name, process.execPath, [INSTANCE], {
      env: { DATABASE_URL: databaseUrl, INSTANCE: name, PORT: String(port === 0 ? 0 : port + at) },
      stdout: 'pipe',
    });
    urls.push(await firstLine(instance.stdout));
  }
  console.log(`
The history is kept in ${databaseUrl}. Both instances show the tasks of both:

  ${urls.join('\n  ')}

  curl '${urls[1]}api/tasks/?worker=blue&limit=3'
  psql ${databaseUrl} -c '\\dt'

Ctrl+C ends it.`);
});

async function firstLine(stream) {
  for await (const chunk of stream) return String(chunk).trim();
}
