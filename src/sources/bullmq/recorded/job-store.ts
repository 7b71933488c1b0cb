/** The history in which jobs are recorded. */
import type { StoreEngine } from '../../../history/store.ts';
import { createStoredHistory } from '../../../history/stored/create-stored-history.ts';
import type { StoredHistory } from '../../../history/stored-history.ts';
import { addressOf } from '../../../redis/client.ts';
import { hostClient } from '../../../redis/on-demand-reader.ts';
import { isRecord } from '../../../values.ts';
import type { ResolvedOptions } from '../access/options.ts';
import type { StreamFollower } from '../events/stream-follower.ts';
import { recordJobs } from './job-recorder.ts';

/** Recorded jobs. */
export interface JobStore extends Pick<StoredHistory, 'reader' | 'readStats' | 'status' | 'openNotes'> {
  /** Ends recording, and writes what has been recorded. */
  close(): Promise<void>;
}

/** Jobs that are held in memory; others are read from the store. */
const MEMORY = { maxTasks: 20_000, maxBytes: 64 * 1024 * 1024 };

/** Opens the store, and records from then on, while this instance holds the lease, unless it never collects. */
export function createJobStore(
  options: ResolvedOptions,
  store: StoreEngine,
  follower: StreamFollower,
): JobStore {
  const { name, redactor, collect } = options;
  const history = createStoredHistory(
    { ...MEMORY, redactor },
    {
      store,
      source: name,
      deployment: deploymentOf(options),
      hearing: 'part',
      isReadOnly: !collect,
    },
  );
  const endRecording = collect ? recordJobs(follower, history) : null;
  return {
    reader: history.reader,
    readStats: history.readStats,
    status: history.status,
    openNotes: history.openNotes,
    async close() {
      await endRecording?.();
      await history.close();
    },
  };
}

/**
 * Identifies the queues in a store that may keep several deployments: server, database and prefix.
 *
 * @returns `null` if a client of the host does not reveal its address
 */
function deploymentOf({ from }: Pick<ResolvedOptions, 'from'>): string | null {
  if (from.kind !== 'queues')
    return joined([from.kind === 'client' ? from.client : from.address], [from.prefix]);
  return joined(
    from.queues.map(({ connection }) => connection),
    from.queues.map(({ prefix }) => prefix),
  );
}

function joined(connections: readonly unknown[], prefixes: readonly string[]): string | null {
  const servers = connections.map(serverOf);
  if (servers.includes(null)) return null;
  return [...new Set(servers), ...new Set(prefixes)].toSorted().join(' ');
}

/** Host, port and database, without user and password. */
function serverOf(connection: unknown): string | null {
  const url = urlOf(connection);
  if (url === null || !URL.canParse(url)) return null;
  const { hostname, port, pathname } = new URL(url);
  const host = hostname.replace(/^(?:127\.0\.0\.1|\[::1\])$/, 'localhost');
  return `${host}:${port || 6_379}${pathname === '' || pathname === '/' ? '/0' : pathname}`;
}

function urlOf(connection: unknown): string | null {
  if (typeof connection === 'string') return connection;
  const client = hostClient(connection);
  if (client !== null) return client.address();
  return isRecord(connection) ? addressOf(connection) : null;
}
