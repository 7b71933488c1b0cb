import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { launcher } from './example-process.ts';

/** Launches an example where nothing is installed. */
function launchWithNothing(name: string): readonly [number | null, string] {
  const missing = '/nonexistent';
  const { status, stderr } = spawnSync(process.execPath, launcher(name), {
    env: { PATH: missing, TASK_MONITOR_PYTHON: missing, RABBITMQ_SERVER_BIN: missing },
    timeout: 120_000,
    encoding: 'utf8',
  });
  return [status, stderr];
}

describe('examples/launch', () => {
  it('says what is missing, and which servers it would use instead', () => {
    expect(launchWithNothing('bullmq')).toEqual([
      1,
      'This example needs more: install redis-server. Or set REDIS_URL.\n',
    ]);
    const [status, stderr] = launchWithNothing('celery-rabbitmq');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^This example needs more: install python3-celery .*; install rabbitmq-server/);
    expect(stderr).toContain('Or set AMQP_URL and DATABASE_URL.');
  }, 150_000);

  it('names the examples that it knows', () => {
    const names = 'Name an example: bullmq, celery, celery-rabbitmq, store.\n';
    expect(launchWithNothing('nothing')).toEqual([1, names]);
  }, 150_000);
});
