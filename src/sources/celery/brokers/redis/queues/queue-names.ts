/** Finds out which queues a deployment has, in steps of bounded size. */
import { describeError, escapeGlob } from '../../../../../redis/problems.ts';
import type { RedisReader } from '../../../../../redis/reader.ts';
import { asTexts } from '../../../../../redis/replies.ts';
import { filledString } from '../../../../../values.ts';
import { type CelerySettings, configuredQueues } from '../../../settings.ts';

/** Most queues that are read. */
const MAX_QUEUES = 1000;
const MAX_EXCHANGES = 500;
/** Members read of one exchange, and at a time. */
const MAX_BINDINGS = 2000;
const PAGE = 500;
/** Commands that one step sends to search all keys, and keys that each of them looks at. */
const SCANS = 20;
const SCAN_COUNT = 1000;
/** Pause after all keys were searched: at least this long, and ten times as long as the search took. */
const REST_MS = 60_000;
const REST_SHARE = 10;
/** Pause between two readings of all exchanges, and how many of them one step reads. */
const REFRESH_MS = 10_000;
const MAX_REFRESHED = 50;

/** Longest pattern and routing key to match, which is the limit of AMQP. */
const MAX_LENGTH = 255;

/** A binding of a queue to an exchange, as kombu stores it: which queue a routing key leads to. */
interface Binding {
  readonly pattern: string;
  readonly queue: string;
}

/** Which queues there are. */
export type QueueNames = ReturnType<typeof createQueueNames>;

interface SearchState {
  readonly reader: RedisReader;
  readonly keys: QueueKeys;
  /** What is bound to each exchange. */
  readonly exchanges: Map<string, readonly Binding[]>;
  /** The exchange of events, to which no task queue is bound. */
  readonly events: string;
  /** SCAN cursor of the search through all keys. */
  cursor: string;
  /** When the next search begins, and when the present one began; milliseconds. */
  dueAt: number;
  beganAt: number;
  isFirst: boolean;
  /** Exchanges to be read again, and when the next round begins. */
  stale: string[];
  staleAt: number;
}

/** @param given names of queues that the host gives */
export function createQueueNames(
  reader: RedisReader,
  keys: QueueKeys,
  settings: CelerySettings,
  given: readonly string[],
) {
  const configured = [...given, ...configuredQueues(settings)].filter(isTaskQueue);
  const fallback = filledString(settings.task_default_queue) ?? 'celery';
  const state: SearchState = {
    reader,
    keys,
    exchanges: new Map(),
    events: settings.event_exchange ?? 'celeryev',
    cursor: '0',
    dueAt: Number.NEGATIVE_INFINITY,
    beganAt: 0,
    isFirst: true,
    stale: [],
    staleAt: Number.NEGATIVE_INFINITY,
  };

  function declared(known: readonly string[]): Set<string> {
    const names = new Set([...configured, ...known.filter(isTaskQueue)]);
    for (const bindings of state.exchanges.values()) for (const { queue } of bindings) names.add(queue);
    return names;
  }

  return {
    /** Queues that something other than the default names. */
    declared,
    /** Sorted; the default queue is among them whether it is used or not. @param known named by workers */
    list: (known: readonly string[]) =>
      [...new Set([fallback, ...declared(known)])].slice(0, MAX_QUEUES).sort(),
    find(exchange: string, routingKey: string) {
      // Celery sends to the default exchange, whose routing keys are names of queues.
      if (exchange === '') return routingKey === '' ? null : routingKey;
      return boundQueue(state.exchanges.get(exchange) ?? [], routingKey);
    },
    /** Searches for more queues: first where they are likely, then in steps through all keys. */
    async step(known: readonly string[], now: number) {
      // A queue of Celery's is usually bound to an exchange of its own name.
      const likely = [filledString(settings.task_default_exchange) ?? fallback, ...configured, ...known];
      if (state.isFirst) await readLikely(state, likely, now);
      await refresh(state, now);
      if (now >= state.dueAt) await searchKeys(state, now);
    },
  };
}

async function readLikely(state: SearchState, exchanges: readonly string[], now: number): Promise<void> {
  for (const exchange of [...new Set(exchanges)].slice(0, MAX_EXCHANGES)) await readExchange(state, exchange);
  state.isFirst = false;
  state.staleAt = now + REFRESH_MS;
}

/** Queues are bound while a deployment runs. */
async function refresh(state: SearchState, now: number): Promise<void> {
  if (state.stale.length === 0 && now >= state.staleAt) {
    state.stale = [...state.exchanges.keys()];
    state.staleAt = now + REFRESH_MS;
  }
  for (const exchange of state.stale.splice(0, MAX_REFRESHED)) await readExchange(state, exchange);
}

async function searchKeys(state: SearchState, now: number): Promise<void> {
  const { reader, keys } = state;
  if (state.cursor === '0') state.beganAt = now;
  try {
    for (let scans = 0; scans < SCANS; scans += 1) {
      const args = ['SCAN', state.cursor, 'MATCH', keys.bindingPattern, 'COUNT', String(SCAN_COUNT)];
      const [next, found] = readScan(await reader.command(args));
      for (const key of found) await readExchange(state, keys.exchangeOf(key));
      state.cursor = next;
      if (next !== '0') continue;
      state.dueAt = now + Math.max(REST_MS, REST_SHARE * (now - state.beganAt));
      return;
    }
  } catch (error) {
    state.dueAt = now + REST_MS;
    throw error;
  }
}

async function readExchange(state: SearchState, exchange: string): Promise<void> {
  const { exchanges, events } = state;
  // Queues of remote control and of events are created for each process and never removed.
  if (exchange === events || exchange.endsWith('.pidbox')) return;
  if (!exchanges.has(exchange) && exchanges.size >= MAX_EXCHANGES) return;
  try {
    exchanges.set(exchange, await readBindings(state, exchange));
  } catch (error) {
    // Another app's key that happens to have such a name.
    if (describeError(error).code !== 'WRONGTYPE') throw error;
    exchanges.set(exchange, []);
  }
}

async function readBindings({ reader, keys }: SearchState, exchange: string): Promise<Binding[]> {
  const found: Binding[] = [];
  let at = '0';
  do {
    const reply = await reader.command(['SSCAN', keys.bindings(exchange), at, 'COUNT', String(PAGE)]);
    const [next, members] = readScan(reply);
    at = next;
    found.push(...members.flatMap((member) => readBinding(member, keys.sep) ?? []));
  } while (at !== '0' && found.length < MAX_BINDINGS);
  return found;
}

function readScan(reply: unknown): [string, readonly string[]] {
  return Array.isArray(reply) ? [String(reply[0]), asTexts(reply[1])] : ['0', []];
}

/**
 * Parses a member: routing key, pattern as a regular expression, queue.
 *
 * @returns `null` if it is invalid, or its queue has no tasks
 */
function readBinding(member: string, sep: string): Binding | null {
  const parts = member.split(sep);
  const [pattern, , queue] = parts;
  if (parts.length !== 3 || pattern === undefined || queue === undefined || !isTaskQueue(queue)) return null;
  return { pattern, queue };
}

/**
 * Whether a queue can have tasks. Queues of remote control and of events are made per process and have none.
 */
function isTaskQueue(name: string): boolean {
  return name !== '' && name.length <= 512 && !name.endsWith('.pidbox') && !/^celeryev\./.test(name);
}

/** The only queue that this routing key leads to; `null` if there are several or none. */
function boundQueue(bindings: readonly Binding[], routingKey: string): string | null {
  const queues = new Set<string>();
  for (const { pattern, queue } of bindings) if (matches(pattern, routingKey)) queues.add(queue);
  const [queue] = queues;
  return queues.size === 1 ? (queue ?? null) : null;
}

/**
 * Whether a pattern of a topic exchange matches a routing key: `*` stands for one word, `#` for any number of
 * words. Takes time proportional to the product of both lengths at most, since the patterns come from outside.
 */
function matches(pattern: string, key: string): boolean {
  if (pattern === key) return true;
  if (!/[*#]/.test(pattern) || pattern.length > MAX_LENGTH || key.length > MAX_LENGTH) return false;
  const words = key.split('.');
  let reached: boolean[] = [true, ...words.map(() => false)];
  for (const part of pattern.split('.')) {
    const next = reached.map(() => false);
    for (let at = 0; at <= words.length; at += 1) {
      if (part === '#') next[at] = reached[at] === true || next[at - 1] === true;
      else next[at] = reached[at - 1] === true && (part === '*' || part === words[at - 1]);
    }
    reached = next;
  }
  return reached.at(-1) === true;
}

/** Names of the keys in which kombu's Redis transport keeps the messages of a deployment (kombu/transport/redis.py). */
export type QueueKeys = ReturnType<typeof queueKeys>;

/** More priorities than this are not read; AMQP has ten. */
const MAX_STEPS = 32;
const BINDING = '_kombu.binding.';

/** @returns the names under the app's transport options */
export function queueKeys(settings: CelerySettings) {
  const options = settings.broker_transport_options ?? {};
  const prefix = options.global_keyprefix ?? '';
  const sep = options.sep ?? '\x06\x16';
  const steps = options.priority_steps ?? [0, 3, 6, 9];
  return {
    /** Between the parts of a name. */
    sep,
    /** Priorities that have a list of their own, in the order in which they run. */
    steps: [...new Set(steps.length > 0 ? steps : [0])].slice(0, MAX_STEPS),
    /** The list of one priority of a queue. */
    list: (queue: string, step: number) => `${prefix}${queue}${step === 0 ? '' : `${sep}${step}`}`,
    /** The hash of unacknowledged messages, and the sorted set that belongs to it. */
    taken: prefix + (options.unacked_key ?? 'unacked'),
    takenIndex: prefix + (options.unacked_index_key ?? 'unacked_index'),
    /** The set of what is bound to an exchange. */
    bindings: (exchange: string) => `${prefix}${BINDING}${exchange}`,
    /** Matches the names of all such sets. */
    bindingPattern: `${escapeGlob(prefix + BINDING)}*`,
    /** The exchange whose set this is. */
    exchangeOf: (key: string) => key.slice(prefix.length + BINDING.length),
  };
}
