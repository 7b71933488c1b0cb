import type { TaskHistory } from '../../history/task-history.ts';
import type { SourceStatus } from '../../source.ts';
import { eventSubscriptions, resultSubscription, type Subscription } from './channels.ts';
import { type Connection, createConnection } from './connection.ts';
import { createIntake } from './intake.ts';
import type { ResolvedOptions } from './options.ts';
import type { CeleryRedisConnection, RedisListener } from './redis-client.ts';

/** Longest value made of a stored result when `retention.maxValueLength` does not say. */
const VALUE_LENGTH = 65_536;

/** Listens to a deployment and tells the history. */
export interface Collector {
  /** The connection that events come over. */
  readonly events: Connection;
  /** The one that results come over, the same where both are on one server; `null` without a backend. */
  readonly results: Connection | null;
  /** What is subscribed. */
  readonly subscriptions: readonly Subscription[];
  /** Messages that came, and those of them that could not be read. */
  counts(): { messages: number; dropped: number };
  /** How current the tasks and the feed are. */
  status(): Pick<SourceStatus, 'ok' | 'asOf' | 'error'>;
  /** How current the workers are: only events tell of them. */
  workerStatus(): Pick<SourceStatus, 'ok' | 'asOf' | 'error'>;
  close(): Promise<void>;
}

/** Subscribes to events and results, and goes on doing so. */
export function createCollector(options: ResolvedOptions, history: TaskHistory): Collector {
  const { broker, backend, settings, retention } = options;
  const intake = createIntake(history, retention.maxValueLength ?? VALUE_LENGTH);
  const events = eventSubscriptions(settings, broker.database);
  const results = backend === null ? null : resultSubscription(settings);
  const prefixLength = results?.prefix.length ?? 0;
  let messages = 0;

  function onEvent(message: string): void {
    intake.takeEvents(message);
  }

  function onResult(message: string, channel: string): void {
    intake.takeResult(message, channel.slice(prefixLength));
  }

  /** Nothing that somebody else sends may throw into the host's event loop. */
  function guarded(take: RedisListener, heard: () => void): RedisListener {
    return (message, channel) => {
      heard();
      messages += 1;
      try {
        take(message, channel);
      } catch {
        history.recordDropped(1);
      }
    };
  }

  function missed(again: boolean): void {
    if (again) history.recordGap();
  }

  const shared = backend !== null && backend.server === broker.server;
  const eventConnection = createConnection({
    label: 'broker',
    open: broker.open,
    prepare: async (client, heard) => {
      await subscribe(client, events, guarded(onEvent, heard));
      if (shared && results !== null) await subscribe(client, [results], guarded(onResult, heard));
    },
    onUp: (again) => {
      history.freezeAt(null);
      missed(again);
    },
    onDown: (asOf) => history.freezeAt(new Date(asOf)),
  });
  let resultConnection = shared ? eventConnection : null;
  if (backend !== null && results !== null && !shared) {
    resultConnection = createConnection({
      label: 'result backend',
      open: backend.open,
      prepare: (client, heard) => subscribe(client, [results], guarded(onResult, heard)),
      onUp: missed,
    });
  }

  return {
    events: eventConnection,
    results: resultConnection,
    subscriptions: results === null ? events : [...events, results],
    counts: () => ({ messages, dropped: intake.dropped() }),
    status: () =>
      statusOf(resultConnection === null ? [eventConnection] : [eventConnection, resultConnection]),
    workerStatus: () => statusOf([eventConnection]),
    async close() {
      await Promise.all([eventConnection.close(), resultConnection?.close()]);
    },
  };
}

async function subscribe(
  client: CeleryRedisConnection,
  subscriptions: readonly Subscription[],
  listener: RedisListener,
): Promise<void> {
  const patterns = subscriptions.filter(({ kind }) => kind === 'pattern').map(({ name }) => name);
  const channels = subscriptions.filter(({ kind }) => kind === 'channel').map(({ name }) => name);
  if (patterns.length > 0) await client.pSubscribe(patterns, listener);
  if (channels.length > 0) await client.subscribe(channels, listener);
}

/**
 * With one of two servers away, what the other tells goes on being shown, as current as the older of
 * both.
 */
function statusOf(connections: readonly Connection[]): Pick<SourceStatus, 'ok' | 'asOf' | 'error'> {
  let ok = true;
  let asOf: number | null = null;
  for (const connection of connections) {
    const state = connection.state();
    ok &&= state.up;
    if (state.asOf !== null) asOf = asOf === null ? state.asOf : Math.min(asOf, state.asOf);
  }
  return { ok, asOf: asOf === null ? null : new Date(asOf), error: ok ? null : 'source_unavailable' };
}
