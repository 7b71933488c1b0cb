/** Reads the command's arguments, and environment variables for values that must not appear in a list of processes. */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import util from 'node:util';
import type { MonitorSources } from '../node.ts';
import type { HistoryStore, PgPool } from '../postgres.ts';

/** A deployment. */
interface Target {
  /** URL of the broker, or of BullMQ's Redis. */
  readonly url: string;
  readonly engine: 'celery' | 'bullmq';
  /** URL of Celery's result backend; `null`: none. */
  readonly backend: string | null;
  /** Prefix of BullMQ's keys; `null`: BullMQ's own. */
  readonly prefix: string | null;
}

/** Shows a deployment. */
export interface ServeCommand extends Target {
  /** Path of a SQLite file or a URL of PostgreSQL; `null`: the history ends with the process. */
  readonly store: string | null;
  readonly host: string;
  readonly port: number;
  /** For the user `monitor`; `null`: everybody has access. */
  readonly password: string | null;
  /** Names by which browsers may reach it, in addition to `localhost`. */
  readonly names: readonly string[];
}

/** Checks a deployment. */
export interface DoctorCommand extends Target {
  /** How long to look. */
  readonly seconds: number;
  /** Whether to print JSON. */
  readonly json: boolean;
}

/** An error in the command as it was written. */
export class UsageError extends Error {}

export const HELP = `Usage: express-task-monitor [options] URL
       express-task-monitor doctor [options] URL

Shows Celery or BullMQ on a page and as JSON, or checks it ("doctor"). It is read-only.

URL                   Celery's broker: redis://, rediss://, sentinel://, amqp:// or amqps://
  --backend URL       Celery's result backend: redis:// or rediss://
  --bullmq            URL is the Redis of BullMQ
  --prefix TEXT       prefix of BullMQ's keys (default: bull)
  --store PLACE       where to keep the history: a file (SQLite, Node 22.13 or later) or postgres://…
  --port NUMBER       default: 3000
  --host ADDRESS      default: 127.0.0.1; any other needs a password or --no-auth
  --name NAME         a host name under which browsers reach it, such as monitor.example.org; repeatable
  --no-auth           allows access to everybody who can reach it
  --help

doctor prints what is right, what hides data and what is dangerous, with the line to change. Run it while tasks run.
  --seconds NUMBER    how long to look (default: 10)
  --json              prints { ok, checks: [{ code, level, summary, change? }] }
Exit status: 0 all right; 1 something hides data or is dangerous; 2 it cannot connect, or the command is wrong.

Environment: TASK_MONITOR_URL, TASK_MONITOR_BACKEND, TASK_MONITOR_STORE and TASK_MONITOR_PASSWORD (of the user
"monitor"), or the same with _FILE and the path of a file that holds the value.

Packages: redis for Celery on Redis, amqplib for RabbitMQ, ioredis for BullMQ, pg for postgres://:
  npx -p express-task-monitor -p redis express-task-monitor redis://localhost:6379/0`;

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/** The options of one of the two commands only. */
const SERVE_ONLY = ['store', 'port', 'host', 'name', 'no-auth'];
const DOCTOR_ONLY = ['seconds', 'json'];

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * @param environment such as `process.env`
 * @returns `null` if it asks for help
 * @throws UsageError that says what to write
 */
export function readCommand(
  args: readonly string[],
  environment: Environment,
): ServeCommand | DoctorCommand | null {
  const { values, positionals } = parse(args);
  if (values.help === true) return null;
  const isDoctor = positionals[0] === 'doctor';
  const foreign = (isDoctor ? SERVE_ONLY : DOCTOR_ONLY).find((name) => Object.hasOwn(values, name));
  if (foreign !== undefined)
    throw new UsageError(`--${foreign} is ${isDoctor ? 'not for doctor' : 'for doctor only'}. See --help.`);
  const urls = isDoctor ? positionals.slice(1) : positionals;
  const target = targetOf(values, urls, environment);
  if (!isDoctor) return { ...target, ...servingOf(values, environment) };
  // Workers send a heartbeat every two seconds: some must have arrived.
  const seconds = numberOf('seconds', values.seconds ?? '10', 5, 3_600);
  return { ...target, seconds, json: values.json === true };
}

type Values = ReturnType<typeof parse>['values'];

function targetOf(values: Values, urls: readonly string[], environment: Environment): Target {
  const url = urls[0] ?? secret(environment, 'TASK_MONITOR_URL');
  if (url === null)
    throw new UsageError(`Write the URL of the broker, such as redis://localhost:6379/0.\n\n${HELP}`);
  if (urls.length > 1) throw new UsageError('Write one URL only. For other options see --help.');
  const engine = values.bullmq === true ? 'bullmq' : 'celery';
  const backend = values.backend ?? secret(environment, 'TASK_MONITOR_BACKEND');
  if (engine === 'bullmq' && backend !== null)
    throw new UsageError('--backend is for Celery, not for --bullmq.');
  if (engine === 'celery' && values.prefix !== undefined) throw new UsageError('--prefix needs --bullmq.');
  return { url, engine, backend, prefix: values.prefix ?? null };
}

function servingOf(values: Values, environment: Environment): Omit<ServeCommand, keyof Target> {
  const host = values.host ?? '127.0.0.1';
  const password = secret(environment, 'TASK_MONITOR_PASSWORD');
  const names = ['TASK_MONITOR_PASSWORD', 'TASK_MONITOR_PASSWORD_FILE'];
  // It was meant to be protected: a variable that another system has not filled in, for instance.
  const empty = password === null && names.find((name) => environment[name] !== undefined);
  if (empty)
    throw new UsageError(
      `${empty} is set, but the password is empty. Set a password, or remove the variable.`,
    );
  if (password === null && values['no-auth'] !== true && !LOOPBACK.includes(host)) {
    throw new UsageError(
      `--host ${host} lets others reach the monitor. Set TASK_MONITOR_PASSWORD or TASK_MONITOR_PASSWORD_FILE, or write --no-auth.`,
    );
  }
  return {
    host,
    password,
    port: numberOf('port', values.port ?? '3000', 0, 65_535),
    store: values.store ?? secret(environment, 'TASK_MONITOR_STORE'),
    names: [...(values.name ?? []), ...(isIP(host) === 0 ? [host] : [])].map((name) => name.toLowerCase()),
  };
}

function parse(args: readonly string[]) {
  try {
    return util.parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        backend: { type: 'string' },
        bullmq: { type: 'boolean' },
        prefix: { type: 'string' },
        store: { type: 'string' },
        port: { type: 'string' },
        host: { type: 'string' },
        name: { type: 'string', multiple: true },
        'no-auth': { type: 'boolean' },
        seconds: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${HELP}`);
  }
}

function numberOf(option: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  throw new UsageError(`--${option} must be a number from ${least} to ${most}.`);
}

/** The value of a variable, or the first line of the file that it names. Empty counts as absent. */
function secret(environment: Environment, name: string): string | null {
  const path = environment[`${name}_FILE`];
  if (!path) return environment[name] || null;
  try {
    return readFileSync(path, 'utf8').split(/\r?\n/)[0] || null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${name}_FILE names a file that cannot be read (${code}): ${path}`);
  }
}

/**
 * Opens the sources that a command names. `end` frees their resources; to be called when the sources are closed.
 *
 * @param place where the history is kept: a file, or a URL of PostgreSQL; `null`: in memory
 * @throws UsageError where a package is missing, TypeError for a wrong URL
 */
export async function openSources(
  target: Target,
  place: string | null,
): Promise<{ readonly sources: MonitorSources; end(): Promise<void> }> {
  const { url, engine, backend, prefix } = target;
  for (const name of packagesOf(target)) await requirePackage(name, target);
  const { store, end } = await openStore(target, place);
  const kept = store === null ? {} : { store };
  if (engine === 'bullmq') {
    const { bullmqSources } = await import('../bullmq.ts');
    return { sources: bullmqSources({ connection: url, ...(prefix !== null && { prefix }), ...kept }), end };
  }
  const { celerySources } = await import('../celery.ts');
  return { sources: celerySources({ broker: url, ...(backend !== null && { backend }), ...kept }), end };
}

function packagesOf({ url, engine, backend }: Target): readonly string[] {
  if (engine === 'bullmq') return ['ioredis'];
  const isRabbit = /^amqps?:/.test(url);
  return isRabbit ? (backend === null ? ['amqplib'] : ['amqplib', 'redis']) : ['redis'];
}

async function requirePackage(name: string, { engine }: Target): Promise<unknown> {
  try {
    return await import(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const flag = engine === 'bullmq' ? ' --bullmq' : '';
    throw new UsageError(
      `The package "${name}" is missing. Install it next to express-task-monitor, or write: npx -p express-task-monitor -p ${name} express-task-monitor${flag} URL`,
    );
  }
}

async function openStore(
  target: Target,
  place: string | null,
): Promise<{ readonly store: HistoryStore | null; end(): Promise<void> }> {
  if (place === null) return { store: null, end: async () => {} };
  if (!/^postgres(?:ql)?:/.test(place)) {
    const { sqliteStore } = await import('../sqlite.ts');
    return { store: sqliteStore(place), end: async () => {} };
  }
  const { postgresStore } = await import('../postgres.ts');
  const { default: pg } = (await requirePackage('pg', target)) as {
    default: {
      Pool: new (
        options: object,
      ) => PgPool & { on(event: 'error', listener: () => void): void; end(): Promise<void> };
    };
  };
  const pool = new pg.Pool({ connectionString: place });
  // A connection that breaks while it is idle. The store reports the consequences.
  pool.on('error', () => {});
  return { store: postgresStore(pool), end: () => pool.end() };
}
