/**
 * `npx tsx examples/launch celery`: starts the servers that an example needs, workers and customers who use them, and the
 * example. REDIS_URL, AMQP_URL, DATABASE_URL: use those and start none. PORT: where the example listens.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { celeryMissing } from '../../test/helpers/celery-app.ts';
import { djangoBeatMissing } from '../../test/helpers/django-beat.ts';
import { PYTHON } from '../../test/helpers/engines.ts';
import { postgresMissing, startPostgres } from '../../test/helpers/postgres.ts';
import { atProcessEnd } from '../../test/helpers/process-end.ts';
import { rabbitMissing, startRabbit } from '../../test/helpers/rabbitmq.ts';
import { redisMissing, startRedis } from '../../test/helpers/redis-server.ts';

const SHOP = fileURLToPath(new URL('shop/', import.meta.url));

/** By the variable that names one that is there. */
const SERVERS = {
  REDIS_URL: { missing: redisMissing, start: startRedis },
  AMQP_URL: { missing: rabbitMissing, start: startRabbit },
  DATABASE_URL: { missing: postgresMissing, start: startPostgres },
};

interface Launch {
  readonly servers: readonly (keyof typeof SERVERS)[];
  /** What the app needs that is not installed. */
  readonly missing: string | null;
  readonly startApp: (env: NodeJS.ProcessEnv) => void;
  /** How many instances of the example run. Default 1. */
  readonly instances?: number;
}

const LAUNCHES: Readonly<Record<string, Launch>> = {
  bullmq: { servers: ['REDIS_URL'], missing: null, startApp: startBullMQ },
  celery: { servers: ['REDIS_URL'], missing: celeryMissing, startApp: startCelery },
  'celery-rabbitmq': {
    servers: ['AMQP_URL', 'DATABASE_URL'],
    missing: celeryMissing ?? djangoBeatMissing,
    startApp: startDjango,
  },
  store: {
    servers: ['REDIS_URL', 'DATABASE_URL'],
    missing: celeryMissing,
    startApp: startCelery,
    instances: 2,
  },
};

const folder = mkdtempSync(join(tmpdir(), 'monitor-example-'));
atProcessEnd(() => rmSync(folder, { recursive: true, force: true }));
const servers: { url(): string; close(): Promise<void> }[] = [];
const instances: ChildProcess[] = [];
let isEnding = false;
process.once('SIGINT', () => void end());

const [name = ''] = process.argv.slice(2);
const launch = LAUNCHES[name];
if (launch === undefined) fail(`Name an example: ${Object.keys(LAUNCHES).join(', ')}.`);
const wanted = launch.servers.filter((variable) => process.env[variable] === undefined);
const missing = [launch.missing, ...wanted.map((variable) => SERVERS[variable].missing)].filter(Boolean);
if (missing.length > 0)
  fail(`This example needs more: ${missing.join('; ')}. Or set ${wanted.join(' and ')}.`);

servers.push(...(await Promise.all(wanted.map((variable) => SERVERS[variable].start()))));
const env = {
  ...process.env,
  ...Object.fromEntries(wanted.map((variable, at) => [variable, servers[at]?.url()])),
};
for (const variable of launch.servers) console.log(`${variable}=${env[variable]}`);
launch.startApp(env);
const port = Number(process.env.PORT ?? 3_000);
for (let at = 0; at < (launch.instances ?? 1); at += 1) {
  const file = fileURLToPath(new URL(`../${name}/server.mjs`, import.meta.url));
  const own = { ...env, PORT: String(port === 0 ? 0 : port + at) };
  instances.push(
    start('The example', process.execPath, [file], { env: own, stdio: ['ignore', 'inherit', 'inherit'] }),
  );
}
console.log('Ctrl+C ends it.');

/** Ends the example as a service manager does. The rest ends with this process. */
async function end(): Promise<void> {
  isEnding = true;
  for (const instance of instances) {
    instance.kill('SIGTERM');
    if (instance.exitCode === null) await once(instance, 'exit');
    process.exitCode ||= instance.exitCode ?? 1;
  }
  await Promise.all(servers.map((server) => server.close()));
  process.exit();
}

function startBullMQ(env: NodeJS.ProcessEnv): void {
  start('The shop', process.execPath, ['bullmq.mjs'], { env });
}

/** Workers and a scheduler of a Celery app, and customers who order. */
function startCelery(env: NodeJS.ProcessEnv, module = 'tasks'): void {
  const celery = (title: string, ...args: string[]): unknown =>
    start(title, PYTHON, ['-m', 'celery', '-A', module, ...args], { env });
  celery('Worker 1', 'worker', '-E', '-c', '2', '-l', 'warning', '-n', 'orders@%h', '-Q', 'celery');
  celery('Worker 2', 'worker', '-E', '-c', '2', '-l', 'warning', '-n', 'media@%h', '-Q', 'mail,photos');
  celery('Beat', 'beat', '--pidfile=', '-s', join(folder, 'schedule'));
  start('The customers', PYTHON, ['-c', `import ${module}, customers`], { env });
}

function startDjango(env: NodeJS.ProcessEnv): void {
  const project = { ...env, DJANGO_SETTINGS_MODULE: 'settings' };
  const migrate = ['-m', 'django', 'migrate', '-v', '0'];
  const { status, stderr } = spawnSync(PYTHON, migrate, { cwd: SHOP, env: project, encoding: 'utf8' });
  if (status !== 0) fail(`django migrate: ${stderr}`);
  startCelery(project, 'project');
}

/** Starts a program in a group of its own, so that Ctrl+C reaches this process alone. If it ends, everything ends. */
function start(
  title: string,
  program: string,
  args: readonly string[],
  {
    env,
    stdio = ['ignore', 'ignore', 'pipe'],
  }: { env: NodeJS.ProcessEnv; stdio?: ('ignore' | 'inherit' | 'pipe')[] },
): ChildProcess {
  const child = spawn(program, args, {
    cwd: SHOP,
    env: { ...env, PYTHONDONTWRITEBYTECODE: '1' },
    stdio,
    detached: true,
  });
  let errors = '';
  child.stderr?.on('data', (chunk) => {
    errors = (errors + chunk).slice(-2_000);
  });
  const onEnd = (reason: unknown): void => {
    if (!isEnding) fail(`${title} ended: ${reason}\n${errors}`);
  };
  child.once('error', onEnd);
  child.once('exit', (code, signal) => onEnd(signal ?? code));
  atProcessEnd(() => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  });
  return child;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
