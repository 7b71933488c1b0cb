import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { HELP, readCommand } from '../../src/command/read-command.ts';
import { isOwnHost } from '../../src/command/serve-command.ts';

const URL = 'redis://localhost:6379/0';
const folder = mkdtempSync(join(tmpdir(), 'monitor-command-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A file whose first line is empty. */
function emptyFile(): string {
  const file = join(folder, 'empty');
  writeFileSync(file, '\nopen sesame\n');
  return file;
}

describe('the command', () => {
  it('needs no more than a URL', () => {
    expect(readCommand([URL], {})).toEqual({
      ...{ url: URL, engine: 'celery', backend: null, prefix: null, store: null },
      ...{ host: '127.0.0.1', port: 3000, password: null, names: [] },
    });
  });

  it('takes options', () => {
    const words = ['--bullmq', '--prefix', 'jobs', '--store', 'monitor.db', '--port', '8080', URL];
    expect(readCommand(words, {})).toMatchObject({
      ...{ engine: 'bullmq', prefix: 'jobs', store: 'monitor.db', port: 8080 },
    });
    expect(readCommand(['--help'], {})).toBeNull();
    for (const name of ['backend', 'bullmq', 'prefix', 'store', 'port', 'host', 'name', 'no-auth'])
      expect(HELP).toContain(`--${name} `);
  });

  it('checks a deployment for as long as it is told, whatever is set for serving', () => {
    const target = { url: URL, engine: 'celery', backend: null, prefix: null };
    const environment = { TASK_MONITOR_STORE: 'monitor.db', TASK_MONITOR_PASSWORD: '' };
    expect(readCommand(['doctor', URL], environment)).toEqual({ ...target, seconds: 10, json: false });
    const words = ['doctor', '--seconds', '30', '--json'];
    expect(readCommand(words, { TASK_MONITOR_URL: URL })).toEqual({ ...target, seconds: 30, json: true });
    for (const text of ['doctor', '--seconds ', '--json ']) expect(HELP).toContain(text);
  });

  it('takes secrets from the environment, or from files that it names', () => {
    const file = join(folder, 'password');
    writeFileSync(file, 'open sesame\n');
    const environment = {
      TASK_MONITOR_URL: 'amqp://guest:guest@rabbit//',
      TASK_MONITOR_BACKEND: 'redis://redis/1',
      TASK_MONITOR_STORE: 'postgres://db/monitor',
      TASK_MONITOR_PASSWORD_FILE: file,
    };
    expect(readCommand(['--host', 'Monitor.example.org'], environment)).toMatchObject({
      ...{ url: 'amqp://guest:guest@rabbit//', backend: 'redis://redis/1', store: 'postgres://db/monitor' },
      ...{ password: 'open sesame', names: ['monitor.example.org'] },
    });
  });

  it.each([
    [[], {}, 'Write the URL of the broker, such as redis://localhost:6379/0.'],
    [[URL, URL], {}, 'Write one URL only.'],
    [['--prot', '1', URL], {}, "Unknown option '--prot'"],
    [['--port', '70000', URL], {}, '--port must be a number from 0 to 65535.'],
    [['doctor'], {}, 'Write the URL of the broker'],
    [['doctor', '--port', '1', URL], {}, '--port is not for doctor.'],
    [['--json', URL], {}, '--json is for doctor only.'],
    [['doctor', '--seconds', '4', URL], {}, '--seconds must be a number from 5 to 3600.'],
    [['--prefix', 'jobs', URL], {}, '--prefix needs --bullmq.'],
    [['--bullmq', '--backend', URL, URL], {}, '--backend is for Celery, not for --bullmq.'],
    [
      ['--host', '0.0.0.0', URL],
      {},
      '--host 0.0.0.0 lets others reach the monitor. Set TASK_MONITOR_PASSWORD',
    ],
    [[URL], { TASK_MONITOR_PASSWORD: '' }, 'TASK_MONITOR_PASSWORD is set, but the password is empty.'],
    [
      ['--host', '::', '--no-auth', URL],
      { TASK_MONITOR_PASSWORD_FILE: '' },
      'TASK_MONITOR_PASSWORD_FILE is set, but the password is empty.',
    ],
    [
      [URL],
      { TASK_MONITOR_PASSWORD_FILE: emptyFile() },
      'TASK_MONITOR_PASSWORD_FILE is set, but the password is empty.',
    ],
    [
      [URL],
      { TASK_MONITOR_PASSWORD_FILE: join(folder, 'none') },
      'TASK_MONITOR_PASSWORD_FILE names a file that',
    ],
  ] as const)('says what to write instead of %j', (words, environment, message) => {
    expect(() => readCommand(words, environment)).toThrow(message);
  });

  it('opens to others with a password, or if told so', () => {
    expect(readCommand(['--host', '::', '--no-auth', URL], {})).toMatchObject({ password: null });
    const environment = { TASK_MONITOR_PASSWORD: 'x' };
    expect(readCommand(['--host', '::', URL], environment)).toMatchObject({ password: 'x' });
  });

  it.each([
    ['127.0.0.1:3000', true],
    ['[::1]:3000', true],
    ['localhost', true],
    ['10.0.0.7:3000', true],
    ['Monitor.example.org:3000', true],
    ['evil.example.org:3000', false],
    ['127.0.0.1.evil.example.org', false],
    ['', false],
  ])('knows %s as its own name: %s', (host, isOwn) => {
    expect(isOwnHost(host, ['monitor.example.org'])).toBe(isOwn);
  });
});
