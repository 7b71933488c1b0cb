import { NOT_CONNECTED } from '../../../../kept-connection.ts';
import { type Connection, createConnection, type RedisEndpoint } from '../../../../redis/connection.ts';
import { findDatabases, findPrefixes, hasAnyKey, hearChannels, lookAt } from '../../../../redis/diagnosis.ts';
import type { RedisListener } from '../../../../redis/node-redis.ts';
import {
  aclLine,
  escapeGlob,
  READ_RULES,
  RedisError,
  type Subscription,
  subscriptionAcl,
} from '../../../../redis/problems.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import { asTexts, replyOfKey } from '../../../../redis/replies.ts';
import { withDatabase } from '../../brokers/redis/endpoints.ts';
import { type Hint, listed, quoted } from '../../hint.ts';
import { createMessageQueue, type MessageQueue } from '../../message-queue.ts';
import { isId } from '../../protocol/messages.ts';
import type {
  BackendAccess,
  PublishedHandlers,
  PublishedResults,
  ResultBackend,
  StoredPart,
  StoredResults,
  StoredText,
  StoredValue,
} from '../../result-backend.ts';
import type { CelerySettings } from '../../settings.ts';

/**
 * Celery's result backend in Redis (celery/backends/redis.py).
 *
 * @param reader connection for commands to the same database; closed with the backend
 */
export function createRedisResultBackend(
  endpoint: RedisEndpoint,
  reader: RedisReader,
  settings: CelerySettings,
): ResultBackend {
  const published = createPublishedResults(endpoint, settings);

  return {
    published,
    stored: createStoredResults({ reader, commands: 0 }, resultKeys(settings)),
    check: (signal) => reader.check(signal),
    deniedHint: (access) => deniedHint(access, settings, endpoint.database),
    diagnose: (signal) => diagnoseResults(endpoint, settings, signal),
    locate: (taskId, signal) => diagnoseDatabase(endpoint, settings, taskId, signal),
    describe: () => ({
      url: endpoint.url,
      config: {
        transport: 'redis',
        database: endpoint.database,
        // Only the names, because the values may be passwords of Sentinels.
        transport_options: Object.keys(settings.result_backend_transport_options ?? {}),
      },
    }),
    async close() {
      await Promise.all([published.close(), reader.close()]);
    },
  };
}

function createStoredResults(store: ValueStore, keys: ResultKeys): StoredResults {
  return {
    size: (signal) => countKeys(store, signal),
    async scan(from, select, signal) {
      const { cursor, keys: names } = await scanKeys(store, from ?? '0', keys.pattern, signal);
      const tasks = names.flatMap((name) => keys.taskOf(name) ?? []);
      const wanted = (await select(tasks)).map(keys.task);
      return {
        next: cursor === '0' ? null : cursor,
        taskCount: tasks.length,
        parts: readParts(store, keys, wanted, names.filter(keys.isGroup), signal),
      };
    },
    async *find(taskIds, signal) {
      for await (const values of readValues(store, taskIds.map(keys.task), signal)) {
        yield resultsOf(values, keys);
      }
    },
    requests: () => store.commands,
  };
}

async function* readParts(
  store: ValueStore,
  keys: ResultKeys,
  taskKeys: readonly string[],
  groupKeys: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<StoredPart, void> {
  for await (const values of readValues(store, taskKeys, signal)) {
    yield { tasks: resultsOf(values, keys), groups: [] };
  }
  for await (const groups of readValues(store, groupKeys, signal)) yield { tasks: [], groups };
}

function resultsOf(values: readonly KeyValue[], keys: ResultKeys): StoredValue[] {
  return values.map(({ key, text, isCut }) => ({ id: keys.taskOf(key) ?? '', text, isCut }));
}

/** The hint for a Redis user who lacks a right, with the command that grants it. */
function deniedHint(access: BackendAccess, settings: CelerySettings, database: number): Hint {
  const isPublished = access === 'published';
  const line = isPublished ? subscriptionAcl([resultSubscription(settings)], database) : aclLine(READ_RULES);
  const what = isPublished
    ? 'subscribe to what the result backend publishes'
    : 'read stored results, so tasks that ended before this monitor started are not shown';
  return {
    code: 'missing_right',
    component: 'backend',
    sentence: `This Redis user may not ${what}. Run ${line}`,
  };
}

/** A published value, and the end of its key: the id of a task or of a group. */
interface Published {
  readonly value: string;
  readonly key: string;
  readonly isGroup: boolean;
}

/**
 * Celery publishes each result that it stores, on a channel named like the key. The subscription has its own
 * connection even if the broker is the same server, because the Redis user may be allowed to subscribe to only
 * one of both.
 */
function createPublishedResults(
  endpoint: RedisEndpoint,
  settings: CelerySettings,
): PublishedResults & { close(): Promise<void> } {
  const results = resultSubscription(settings);
  const groups = groupSubscription(settings);
  let connection: Connection | null = null;
  let queue: MessageQueue<Published> | null = null;

  function connect(handlers: PublishedHandlers): Connection {
    const messages = createMessageQueue<Published>({
      kind: 'results',
      sizeOf: ({ value }) => value.length,
      take({ value, key, isGroup }) {
        // Chords publish the number of their header tasks beside their groups: it is no group, and nothing is read of it.
        if (isGroup) handlers.group(value, key);
        else handlers.task(value, key);
        return null;
      },
      lost: handlers.lost,
    });
    queue = messages;
    return createConnection({
      label: 'result backend',
      open: (signal) => endpoint.open(signal),
      async prepare(client, heard) {
        const onResult: RedisListener = (message, channel) => {
          heard();
          messages.push({ value: message, key: channel.slice(results.prefix.length), isGroup: false });
        };
        const onGroup: RedisListener = (message, channel) => {
          heard();
          messages.push({ value: message, key: channel.slice(groups.prefix.length), isGroup: true });
        };
        await client.pSubscribe([results.name], onResult);
        // A user without permission for groups still receives results.
        await client.pSubscribe([groups.name], onGroup).catch(() => {});
      },
      onUp: handlers.up,
    });
  }

  return {
    start(handlers) {
      connection ??= connect(handlers);
    },
    state: () => connection?.state() ?? NOT_CONNECTED,
    channels: [results.name, groups.name],
    async close() {
      queue?.close();
      await connection?.close();
    },
  };
}

/** The part after the prefix in every key and channel of a result (celery/backends/base.py). */
const RESULT = 'celery-task-meta-';

/** Maximum number of alternatives in a sentence. */
const MOST = 3;

/** Listens to all channels that may carry results and looks at names of keys, once. */
async function diagnoseResults(
  endpoint: RedisEndpoint,
  settings: CelerySettings,
  signal: AbortSignal,
): Promise<readonly Hint[]> {
  const { prefix } = resultSubscription(settings);
  const own = prefix.slice(0, -RESULT.length);
  const [heard, stored] = await Promise.all([
    hearChannels(endpoint, [`*${RESULT}*`], prefixOf, signal),
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
async function diagnoseDatabase(
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

/** Where results are published. `prefix` precedes the task's id in each channel's name. */
function resultSubscription(settings: CelerySettings): Subscription & { readonly prefix: string } {
  let keyPrefix = settings.result_backend_transport_options?.global_keyprefix ?? '';
  // celery/backends/base.py adds this only to a prefix that does not end in a separator.
  if (keyPrefix !== '' && !/[:_.-]$/.test(keyPrefix)) keyPrefix += '_';
  const prefix = `${keyPrefix}celery-task-meta-`;
  return { kind: 'pattern', name: `${escapeGlob(prefix)}*`, prefix };
}

/** Where groups and the sizes of chords are published. `prefix` precedes the group's id. */
function groupSubscription(settings: CelerySettings): Subscription & { readonly prefix: string } {
  const prefix = resultSubscription(settings).prefix.replace(/task-meta-$/, 'taskset-meta-');
  return { kind: 'pattern', name: `${escapeGlob(prefix)}*`, prefix };
}

/** Names of the keys of one backend (celery/backends/base.py, redis.py). */
type ResultKeys = ReturnType<typeof resultKeys>;

/** @param settings for the prefix of the backend's keys */
function resultKeys(settings: CelerySettings) {
  const { prefix } = resultSubscription(settings);
  const { prefix: groupPrefix } = groupSubscription(settings);
  const shared = prefix.slice(0, -'-meta-'.length);
  return {
    // Redis compares a pattern with a single star at its end twice as fast; other keys are rare.
    /** A pattern for SCAN that matches the keys of tasks and groups, and hardly any other. */
    pattern: `${escapeGlob(shared)}*`,
    /** The key of a task's result. */
    task: (id: string) => prefix + id,
    /** The task whose result has this key; `null` when it is another key. */
    taskOf(key: string) {
      const id = key.startsWith(prefix) ? key.slice(prefix.length) : '';
      return isId(id) ? id : null;
    },
    // A running chord counts its parts in keys of the same name that end in `.j`, `.s` and `.t`.
    /** Whether this is the key of a stored group. */
    isGroup: (key: string) => key.startsWith(groupPrefix) && !/\.[jst]$/.test(key),
  };
}

/** Keys that one SCAN visits: well under a millisecond of Redis' time. */
const SCAN_COUNT = '500';
/** Most bytes of all values of one write. Redis copies a megabyte in well under a millisecond. */
const MOST_BYTES = 1024 * 1024;
/** Most bytes of a value: those that are longer are read again with the next bound. */
const BOUNDS = [8 * 1024, 128 * 1024, MOST_BYTES] as const;
/** Of a value that is longer than all of them, only the beginning is kept, in characters. */
const HEAD_LENGTH = 256;

/**
 * A connection, and how many commands were sent over it. Keys and values are read in steps that keep neither Redis nor
 * this process busy, however many and large they are, with commands that only read: SCAN, DBSIZE, GETRANGE.
 */
interface ValueStore {
  readonly reader: RedisReader;
  commands: number;
}

/** A key with its value. A key without one, or of another type, is left out. */
interface KeyValue extends StoredText {
  readonly key: string;
}

/**
 * One step through the names of all keys.
 *
 * @param cursor `'0'` for the first step, then the cursor returned; `'0'` is returned by the last step
 */
async function scanKeys(
  store: ValueStore,
  cursor: string,
  pattern: string,
  signal: AbortSignal,
): Promise<{ cursor: string; keys: readonly string[] }> {
  const command = ['SCAN', cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT];
  store.commands += 1;
  const reply = await store.reader.command(command, { signal });
  const [next, keys] = Array.isArray(reply) ? (reply as unknown[]) : [];
  return { cursor: String(next ?? '0'), keys: asTexts(keys) };
}

/** Number of keys in the database; `null` when the user may not read it. */
async function countKeys(store: ValueStore, signal: AbortSignal): Promise<number | null> {
  store.commands += 1;
  try {
    return Number(await store.reader.command(['DBSIZE'], { signal }));
  } catch (error) {
    if (error instanceof RedisError && error.problem.code === 'NOPERM') return null;
    throw error;
  }
}

/** Values in parts of bounded size, in no particular order; the next part is read on request. */
async function* readValues(
  store: ValueStore,
  keys: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<readonly KeyValue[], void> {
  let values: readonly KeyValue[] = keys.map((key) => ({ key, text: '', isCut: true }));
  for (const bound of BOUNDS) {
    const cut: KeyValue[] = [];
    const count = MOST_BYTES / bound;
    for (let at = 0; at < values.length; at += count) {
      const whole: KeyValue[] = [];
      for (const value of await readBounded(store, values.slice(at, at + count), bound, signal)) {
        (value.isCut ? cut : whole).push(value);
      }
      if (whole.length > 0) yield whole;
    }
    values = cut;
  }
  if (values.length > 0) yield values;
}

/** @param bound most bytes to read of a value; of a longer one, the beginning is returned */
async function readBounded(
  store: ValueStore,
  values: readonly KeyValue[],
  bound: number,
  signal: AbortSignal,
): Promise<KeyValue[]> {
  store.commands += values.length;
  const commands = values.map(({ key }) => ['GETRANGE', key, '0', String(bound)]);
  const outcomes = await store.reader.outcomes(commands, { signal });
  return values.flatMap(({ key }, index) => {
    const outcome = outcomes[index];
    const text = outcome === undefined ? null : replyOfKey(outcome);
    if (typeof text !== 'string' || text === '') return [];
    const isCut = Buffer.byteLength(text) > bound;
    return [{ key, text: isCut ? text.slice(0, HEAD_LENGTH) : text, isCut }];
  });
}
