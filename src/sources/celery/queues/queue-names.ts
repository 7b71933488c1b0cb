/** Finds out which queues a deployment has, in steps of bounded size. */
import type { RedisReader } from '../../../redis/reader.ts';
import type { FindQueue } from '../protocol/queue-message.ts';
import type { CelerySettings } from '../settings.ts';
import { type Binding, boundQueue, isTaskQueue, readBinding } from './bindings.ts';
import type { QueueKeys } from './queue-keys.ts';
import { problemOf } from './replies.ts';

/** Most queues that are read. */
const MAX_QUEUES = 1000;
const MAX_EXCHANGES = 500;
/** Members read of one exchange, and at a time. */
const MAX_BINDINGS = 2000;
const PAGE = 500;
/** One step looks at this many keys, those of one command at a time. */
const SCANS = 20;
const SCAN_COUNT = 1000;
/** Pause after all keys were looked at: at least this, and ten times as long as it took, in milliseconds. */
const REST = 60_000;
const REST_SHARE = 10;
/** Pause between two readings of all exchanges, and how many are read in one step. */
const REFRESH = 10_000;
const MAX_REFRESHED = 50;

/** Where names of queues come from beside Redis. */
export interface KnownQueues {
  /** Given by the host. */
  readonly given: readonly string[];
  /** That workers say they read from. */
  known(): readonly string[];
}

/** Which queues there are. */
export interface QueueNames {
  /** Sorted; the default queue is among them whether it is used or not. */
  list(): string[];
  /** Whether anything but the default says that there is such a queue. */
  isDeclared(queue: string): boolean;
  readonly find: FindQueue;
  /** Looks for more: what is likely at first, then in steps through all keys. */
  step(now: number): Promise<void>;
}

/** @param settings the app's queues are taken from it, too */
export function createQueueNames(
  reader: RedisReader,
  keys: QueueKeys,
  settings: CelerySettings,
  { given, known }: KnownQueues,
): QueueNames {
  const exchanges = new Map<string, readonly Binding[]>();
  const configured = [...given, ...configuredQueues(settings)].filter(isTaskQueue);
  const fallback = nameOf(settings.task_default_queue) ?? 'celery';
  const events = settings.event_exchange ?? 'celeryev';
  let cursor = '0';
  let dueAt = Number.NEGATIVE_INFINITY;
  let beganAt = 0;
  let isFirst = true;
  let stale: string[] = [];
  let staleAt = Number.NEGATIVE_INFINITY;

  /** Queues of remote control and of events are made for each process and never taken away. */
  const holdsTasks = (exchange: string): boolean => exchange !== events && !exchange.endsWith('.pidbox');

  async function readExchange(exchange: string): Promise<void> {
    if (!holdsTasks(exchange)) return;
    if (!exchanges.has(exchange) && exchanges.size >= MAX_EXCHANGES) return;
    try {
      exchanges.set(exchange, await readBindings(exchange));
    } catch (error) {
      // A key of somebody else's that happens to be called so.
      if (problemOf(error).code !== 'WRONGTYPE') throw error;
      exchanges.set(exchange, []);
    }
  }

  async function readBindings(exchange: string): Promise<Binding[]> {
    const found: Binding[] = [];
    let at = '0';
    do {
      const reply = await reader.command(['SSCAN', keys.bindings(exchange), at, 'COUNT', String(PAGE)]);
      const [next, members] = readScan(reply);
      at = next;
      for (const member of members) {
        const binding = readBinding(member, keys.sep);
        if (binding !== null) found.push(binding);
      }
    } while (at !== '0' && found.length < MAX_BINDINGS);
    return found;
  }

  /** Queues are bound while a deployment runs. */
  async function refresh(now: number): Promise<void> {
    if (stale.length === 0 && now >= staleAt) {
      stale = [...exchanges.keys()];
      staleAt = now + REFRESH;
    }
    for (const exchange of stale.splice(0, MAX_REFRESHED)) await readExchange(exchange);
  }

  async function scan(now: number): Promise<void> {
    if (cursor === '0') beganAt = now;
    for (let scans = 0; scans < SCANS; scans += 1) {
      const args = ['SCAN', cursor, 'MATCH', keys.bindingPattern, 'COUNT', String(SCAN_COUNT)];
      const [next, found] = readScan(await reader.command(args));
      for (const key of found) await readExchange(keys.exchangeOf(key));
      cursor = next;
      if (cursor === '0') {
        dueAt = now + Math.max(REST, REST_SHARE * (now - beganAt));
        return;
      }
    }
  }

  function declared(): Set<string> {
    const names = new Set(configured);
    for (const name of known()) if (isTaskQueue(name)) names.add(name);
    for (const bindings of exchanges.values()) for (const { queue } of bindings) names.add(queue);
    return names;
  }

  return {
    list: () => [...new Set([fallback, ...declared()])].slice(0, MAX_QUEUES).sort(),
    isDeclared: (queue) => declared().has(queue),
    find(exchange, routingKey) {
      // Celery sends to the exchange without a name, whose routing keys are names of queues.
      if (exchange === '') return routingKey === '' ? null : routingKey;
      return boundQueue(exchanges.get(exchange) ?? [], routingKey);
    },
    async step(now) {
      if (isFirst) {
        // A queue of Celery's is mostly bound to an exchange of its own name.
        const likely = new Set([
          nameOf(settings.task_default_exchange) ?? fallback,
          ...configured,
          ...known(),
        ]);
        for (const exchange of [...likely].slice(0, MAX_EXCHANGES)) await readExchange(exchange);
        isFirst = false;
        staleAt = now + REFRESH;
      }
      await refresh(now);
      if (now < dueAt) return;
      try {
        await scan(now);
      } catch (error) {
        dueAt = now + REST;
        throw error;
      }
    },
  };
}

function readScan(reply: unknown): [string, string[]] {
  if (!Array.isArray(reply) || !Array.isArray(reply[1])) return ['0', []];
  return [String(reply[0]), reply[1].filter((item) => typeof item === 'string')];
}

function nameOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** `task_queues` as a host may write it: names, objects with a name, or an object by name. */
function configuredQueues({ task_queues: queues }: CelerySettings): string[] {
  if (typeof queues !== 'object' || queues === null) return [];
  if (!Array.isArray(queues)) return Object.keys(queues);
  return queues.flatMap((queue: unknown) => {
    const own = typeof queue === 'object' && queue !== null ? (queue as { name?: unknown }).name : queue;
    return nameOf(own) ?? [];
  });
}
