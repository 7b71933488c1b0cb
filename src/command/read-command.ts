/** Reads the command's arguments, and environment variables for values that must not appear in a list of processes. */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import util from 'node:util';

/** A valid command. */
export interface Command {
  /** URL of the broker, or of BullMQ's Redis. */
  readonly url: string;
  readonly engine: 'celery' | 'bullmq';
  /** URL of Celery's result backend; `null`: none. */
  readonly backend: string | null;
  /** Prefix of BullMQ's keys; `null`: BullMQ's own. */
  readonly prefix: string | null;
  /** Path of a SQLite file or a URL of PostgreSQL; `null`: the history ends with the process. */
  readonly store: string | null;
  readonly host: string;
  readonly port: number;
  /** For the user `monitor`; `null`: everybody has access. */
  readonly password: string | null;
  /** Names by which browsers may reach it, in addition to `localhost`. */
  readonly names: readonly string[];
}

/** An error in the command as it was written. */
export class UsageError extends Error {}

export const HELP = `Usage: express-task-monitor [options] URL

Shows Celery or BullMQ on a page and as JSON. It is read-only.

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

Environment: TASK_MONITOR_URL, TASK_MONITOR_BACKEND, TASK_MONITOR_STORE and TASK_MONITOR_PASSWORD (of the user
"monitor"), or the same with _FILE and the path of a file that holds the value.

Packages: redis for Celery on Redis, amqplib for RabbitMQ, ioredis for BullMQ, pg for postgres://:
  npx -p express-task-monitor -p redis express-task-monitor redis://localhost:6379/0`;

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/**
 * @param environment such as `process.env`
 * @returns `null` if it asks for help
 * @throws UsageError that says what to write
 */
export function readCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Command | null {
  const { values, positionals } = parse(args);
  if (values.help === true) return null;
  const given = (name: string): string | null => secret(environment, `TASK_MONITOR_${name}`);
  const url = positionals[0] ?? given('URL');
  if (url === null)
    throw new UsageError(`Write the URL of the broker, such as redis://localhost:6379/0.\n\n${HELP}`);
  if (positionals.length > 1) throw new UsageError('Write one URL only. For other options see --help.');
  const engine = values.bullmq === true ? 'bullmq' : 'celery';
  const backend = values.backend ?? given('BACKEND');
  if (engine === 'bullmq' && backend !== null)
    throw new UsageError('--backend is for Celery, not for --bullmq.');
  if (engine === 'celery' && values.prefix !== undefined) throw new UsageError('--prefix needs --bullmq.');
  const host = values.host ?? '127.0.0.1';
  const password = given('PASSWORD');
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
    url,
    engine,
    backend,
    host,
    password,
    port: portOf(values.port),
    prefix: values.prefix ?? null,
    store: values.store ?? given('STORE'),
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
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${HELP}`);
  }
}

function portOf(text = '3000'): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new UsageError('--port must be a number from 0 to 65535.');
  return port;
}

/** The value of a variable, or the first line of the file that it names. Empty counts as absent. */
function secret(environment: Readonly<Record<string, string | undefined>>, name: string): string | null {
  const path = environment[`${name}_FILE`];
  if (!path) return environment[name] || null;
  try {
    return readFileSync(path, 'utf8').split(/\r?\n/)[0] || null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${name}_FILE names a file that cannot be read (${code}): ${path}`);
  }
}
