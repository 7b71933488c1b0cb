import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const FOLDER = new URL('.', import.meta.url);

/** The first Python that has Celery: PYTHON, the one on the PATH, the system's own (Debian's python3-celery). */
export function findPython() {
  const candidates = [process.env.PYTHON, 'python3', '/usr/bin/python3'].filter(Boolean);
  return candidates.find((python) => spawnSync(python, ['-c', 'import celery, redis']).status === 0) ?? null;
}

export const HOW_TO_INSTALL =
  "This example needs Celery: pip install 'celery[redis]', or on Debian: apt install python3-celery python3-redis";

/**
 * Two Celery workers, one of them also the scheduler, and customers who order; `onOrder` is called with the first
 * order.
 */
export function startCelery({ python, processes, redisUrl, folder, onOrder }) {
  const options = { cwd: FOLDER, env: { REDIS_URL: redisUrl, PYTHONDONTWRITEBYTECODE: '1' } };
  const worker = ['-m', 'celery', '-A', 'tasks', 'worker', '-E', '-c', '2', '-l', 'warning'];
  // -B: one of them is also the scheduler.
  const beat = ['-B', '-s', join(folder, 'schedule')];
  processes.start('worker 1', python, [...worker, '-n', 'orders@%h', '-Q', 'celery', ...beat], options);
  processes.start('worker 2', python, [...worker, '-n', 'media@%h', '-Q', 'mail,photos'], options);
  const customers = processes.start('customers', python, ['customers.py'], { ...options, stdout: 'pipe' });
  customers.stdout.setEncoding('utf8').once('data', (id) => onOrder(id.trim().split('\n')[0]));
  // Keep reading: the customers would stop when the pipe is full.
  customers.stdout.resume();
}
