import { spawnSync } from 'node:child_process';

const FOLDER = new URL('.', import.meta.url);
const NEEDED = 'import celery, django_celery_beat, django_celery_results, psycopg2';

/**
 * The first Python that has the required packages: PYTHON, the one on the PATH, the system's own (Debian's packages).
 */
export function findPython() {
  const candidates = [process.env.PYTHON, 'python3', '/usr/bin/python3'].filter(Boolean);
  return candidates.find((python) => spawnSync(python, ['-c', NEEDED]).status === 0) ?? null;
}

export const HOW_TO_INSTALL =
  'This example needs Celery with Django: pip install celery django-celery-beat django-celery-results psycopg2-binary,\n' +
  'or on Debian: apt install python3-celery python3-django-celery-beat python3-django-celery-results python3-psycopg2';

/** Creates the tables; starts two workers, the scheduler, and customers who order. Calls `onOrder` with the id of the first order. */
export function startShop({ python, processes, amqpUrl, databaseUrl, onOrder }) {
  const env = {
    AMQP_URL: amqpUrl,
    // Variables that the tasks of ../celery read first; shop.py sets the rest.
    REDIS_URL: amqpUrl,
    DATABASE_URL: databaseUrl,
    DJANGO_SETTINGS_MODULE: 'settings',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const options = { cwd: FOLDER, env };
  const { status, stderr } = spawnSync(python, ['-m', 'django', 'migrate', '-v', '0'], {
    cwd: FOLDER,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`django migrate: ${stderr}`);
  const celery = ['-m', 'celery', '-A', 'shop'];
  const worker = [...celery, 'worker', '-E', '-c', '2', '-l', 'warning'];
  processes.start('worker 1', python, [...worker, '-n', 'orders@%h', '-Q', 'celery'], options);
  processes.start('worker 2', python, [...worker, '-n', 'media@%h', '-Q', 'mail,photos'], options);
  processes.start('beat', python, [...celery, 'beat', '--pidfile='], options);
  const order = ['-c', 'import shop, customers'];
  const customers = processes.start('customers', python, order, { ...options, stdout: 'pipe' });
  customers.stdout.setEncoding('utf8').once('data', (id) => onOrder(id.trim().split('\n')[0]));
  // Keep reading: the customers would stop when the pipe is full.
  customers.stdout.resume();
}
