/** Opens the sources that a command names. */
import type { MonitorSources } from '../node.ts';
import type { HistoryStore, PgPool } from '../postgres.ts';
import { type Target, UsageError } from './read-command.ts';

/** Sources, and a function that frees their resources. */
interface OpenSources {
  readonly sources: MonitorSources;
  /** To be called when the sources are closed. */
  end(): Promise<void>;
}

/**
 * @param place where the history is kept: a file, or a URL of PostgreSQL; `null`: in memory
 * @throws UsageError where a package is missing, TypeError for a wrong URL
 */
export async function openSources(target: Target, place: string | null): Promise<OpenSources> {
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
