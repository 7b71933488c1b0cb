/** Opens the sources of a command through the public entries, as an app would. Each entry is loaded if needed. */
import type { MonitorSources } from '../node.ts';
import type { HistoryStore, PgPool } from '../postgres.ts';
import { type Command, UsageError } from './read-command.ts';

/** Sources, and a function that frees their resources. */
export interface OpenSources {
  readonly sources: MonitorSources;
  /** To be called when the sources are closed. */
  end(): Promise<void>;
}

/** @throws UsageError where a package is missing, TypeError for a wrong URL */
export async function sourcesOf(command: Command): Promise<OpenSources> {
  const { url, engine, backend, prefix } = command;
  for (const name of packagesOf(command)) await requirePackage(name, command);
  const { store, end } = await openStore(command);
  const kept = store === null ? {} : { store };
  if (engine === 'bullmq') {
    const { bullmqSources } = await import('../bullmq.ts');
    return { sources: bullmqSources({ connection: url, ...(prefix !== null && { prefix }), ...kept }), end };
  }
  const { celerySources } = await import('../celery.ts');
  return { sources: celerySources({ broker: url, ...(backend !== null && { backend }), ...kept }), end };
}

function packagesOf({ url, engine, backend }: Command): readonly string[] {
  if (engine === 'bullmq') return ['ioredis'];
  const isRabbit = /^amqps?:/.test(url);
  return isRabbit ? (backend === null ? ['amqplib'] : ['amqplib', 'redis']) : ['redis'];
}

async function requirePackage(name: string, { engine }: Command): Promise<unknown> {
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
  command: Command,
): Promise<{ readonly store: HistoryStore | null; end(): Promise<void> }> {
  const { store } = command;
  if (store === null) return { store: null, end: async () => {} };
  if (!/^postgres(?:ql)?:/.test(store)) {
    const { sqliteStore } = await import('../sqlite.ts');
    return { store: sqliteStore(store), end: async () => {} };
  }
  const { postgresStore } = await import('../postgres.ts');
  const { default: pg } = (await requirePackage('pg', command)) as {
    default: {
      Pool: new (
        options: object,
      ) => PgPool & { on(event: 'error', listener: () => void): void; end(): Promise<void> };
    };
  };
  const pool = new pg.Pool({ connectionString: store });
  // A connection that breaks while it is idle. The store reports the consequences.
  pool.on('error', () => {});
  return { store: postgresStore(pool), end: () => pool.end() };
}
