/** Finds out where else on this Redis results are stored, when none arrive where this source reads. */
import type { RedisEndpoint } from '../../../../redis/endpoint.ts';
import { findDatabases, findPrefixes, hasAnyKey, lookAt } from '../../../../redis/find-keys.ts';
import { hearChannels } from '../../../../redis/hear-channels.ts';
import { withDatabase } from '../../brokers/redis/endpoints.ts';
import { type Hint, listed, quoted } from '../../hint.ts';
import type { CelerySettings } from '../../settings.ts';
import { resultSubscription } from './result-keys.ts';

/** The part after the prefix in every key and channel of a result (celery/backends/base.py). */
const RESULT = 'celery-task-meta-';

/** Maximum number of alternatives in a sentence. */
const MOST = 3;

/**
 * Listens to all channels that may carry results and looks at names of keys, once.
 *
 * @param listenMs how long to listen, in milliseconds
 */
export async function diagnoseResults(
  endpoint: RedisEndpoint,
  settings: CelerySettings,
  listenMs: number,
  signal: AbortSignal,
): Promise<readonly Hint[]> {
  const { prefix } = resultSubscription(settings);
  const own = prefix.slice(0, -RESULT.length);
  const [heard, stored] = await Promise.all([
    hearChannels(endpoint, [`*${RESULT}*`], prefixOf, listenMs, signal),
    lookAt(endpoint, (reader) => findPrefixes(reader, RESULT, signal)),
  ]);
  if (stored?.includes(own)) return [];
  const others = [...new Set([...heard.channels, ...(stored ?? [])])].filter((other) => other !== own);
  const prefixes = others.toSorted().slice(0, MOST);
  const lines = prefixes.map(
    (other) => `settings: { result_backend_transport_options: { global_keyprefix: ${quoted(other)} } }`,
  );
  if (lines.length === 0) return [];
  const sentence =
    `Results are stored as ${listed(prefixes.map((other) => `${other}${RESULT}*`))}, and none as ${prefix}*. ` +
    `If they belong to this app, write ${lines.join(' or ')}.`;
  return [{ code: 'no_results', component: 'backend', sentence }];
}

function prefixOf(channel: string): string | null {
  const at = channel.indexOf(RESULT);
  return at < 0 || at > 100 ? null : channel.slice(0, at);
}

/**
 * Looks for the database in which a published result is stored: channels are the same for all databases.
 *
 * @param taskId a task whose result was published
 */
export async function diagnoseDatabase(
  endpoint: RedisEndpoint,
  settings: CelerySettings,
  taskId: string,
  signal: AbortSignal,
): Promise<readonly Hint[]> {
  const key = `${resultSubscription(settings).prefix}${taskId}`;
  const databases = await lookAt(endpoint, async (reader) =>
    (await hasAnyKey(reader, [key], signal)) ? [] : findDatabases(reader, endpoint, [key], signal),
  );
  const [database] = databases ?? [];
  // No database has it: its client may have removed it at once, which proves nothing.
  return database === undefined ? [] : [databaseHint(endpoint, database)];
}

/** @param database where results are stored */
function databaseHint(endpoint: RedisEndpoint, database: number): Hint {
  const line = withDatabase('backend', endpoint, database);
  const sentence = `Results are stored in database ${database}, and this source reads database ${endpoint.database}. Write ${line}.`;
  return { code: 'no_results', component: 'backend', sentence };
}
