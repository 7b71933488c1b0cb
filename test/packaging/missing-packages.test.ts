import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { installed, pack } from './packed.ts';

const packed = pack();

const ROWS = [
  ['amqplib', 'celery', "celerySources({ broker: 'amqp://127.0.0.1:1//' })"],
  ['redis', 'celery', "celerySources({ broker: 'redis://127.0.0.1:1/0' })"],
  ['redis', 'celery', "celerySources({ broker: 'sentinel://127.0.0.1:1/0', settings: SENTINEL })"],
  ['ioredis', 'bullmq', "bullmqSources({ connection: 'redis://127.0.0.1:1/0' })"],
] as const;

/** Makes a source, and prints what is thrown. */
const program = (entry: string, call: string) => `
  const SENTINEL = { broker_transport_options: { master_name: 'm' } };
  const load = LOAD('express-task-monitor/${entry}');
  Promise.resolve(load).then(({ ${entry}Sources }) => {
    try { ${call}; console.log('made'); } catch (error) { console.log(error.message); }
  });`;

/** The first line that a program prints. */
async function printed(cwd: string, file: string): Promise<string | null> {
  const child = spawn(process.execPath, [file], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    for await (const line of createInterface({ input: child.stdout })) return line;
    return null;
  } finally {
    child.kill('SIGKILL');
  }
}

describe('a package that is needed', () => {
  for (const [name, entry, call] of ROWS) {
    for (const [file, load] of [
      ['app.mjs', '(path) => import(path)'],
      ['app.cjs', 'require'],
    ] as const) {
      it(`is named when the source is made without it: ${name}, ${call}, in ${file}`, async () => {
        const text = `const LOAD = ${load};${program(entry, call)}`;
        const packages = { debug: installed('debug'), croner: installed('croner') };
        const without = packed.consumer({ files: { [file]: text }, packages });
        expect(await printed(without, file)).toBe(
          `${entry}Sources: the package ${name} is not installed: run npm install ${name}.`,
        );
        const project = packed.consumer({
          files: { [file]: text },
          packages: { ...packages, [name]: installed(name) },
        });
        expect(await printed(project, file)).toBe('made');
      });
    }
  }
});
