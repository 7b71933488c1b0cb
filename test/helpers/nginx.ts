/** Debian's nginx in front of a host, with its defaults. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ask } from './ask.ts';
import { endWithProcess, freePort, until } from './redis-server.ts';

/** Why tests that need nginx cannot run here; `null` when they can. */
export const nginxMissing: string | null = spawnSync('nginx', ['-v']).status === 0 ? null : 'install nginx';

/** Starts it until the test is over: it buffers answers, and strips `/tools` off. @returns its own address */
export async function startNginx(upstream: string): Promise<string> {
  const port = await freePort();
  runNginx(`server { listen 127.0.0.1:${port}; location /tools/ { proxy_pass ${upstream}/; } }`);
  const url = `http://127.0.0.1:${port}/tools`;
  await untilAnswered(url, '/canary', 200);
  return url;
}

/** Resolves once a path behind it is answered with this status. */
export function untilAnswered(base: string, path: string, expected: number): Promise<void> {
  return until(() =>
    ask(base, path, { ours: false }).then(
      ({ status }) => status === expected,
      () => false,
    ),
  );
}

/**
 * Starts it until the test is over; it may not listen yet.
 *
 * @param servers the blocks `server` of its configuration
 */
export function runNginx(servers: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-nginx-'));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join(' ');
  const configuration = `
    daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
    events {}
    http {
      access_log off; ${temporary}
      gzip on; gzip_types *;
      ${servers}
    }`;
  writeFileSync(join(folder, 'nginx.conf'), configuration);
  const child: ChildProcess = spawn(
    'nginx',
    ['-p', folder, '-e', `${folder}/error.log`, '-c', `${folder}/nginx.conf`],
    {
      stdio: 'ignore',
    },
  );
  endWithProcess(child);
  onTestFinished(async () => {
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  });
}
