import type { HistoryWriter } from '../../history/history.ts';
import { type Connection, createConnection } from '../../redis/connection.ts';
import type { CeleryRedisConnection, RedisListener } from '../../redis/node-redis.ts';
import type { SourceStatus } from '../../source.ts';
import {
  eventSubscriptions,
  groupSubscription,
  resultSubscription,
  type Subscription,
} from './brokers/redis/channels.ts';
import type { Intake } from './intake.ts';
import type { ResolvedOptions } from './options.ts';

/** Listens to a deployment and tells the history. */
export interface Collector {
  /** The connection that events come over; `null` where the broker is not Redis. */
  readonly events: Connection | null;
  /** The one that results come over; `null` without a backend in Redis. */
  readonly results: Connection | null;
  /** What is subscribed. */
  readonly subscriptions: readonly Subscription[];
  /** Messages that came. */
  messages(): number;
  /** How current the tasks and the feed are. */
  status(): Pick<SourceStatus, 'ok' | 'asOf' | 'error'>;
  /** How current the workers are: only events tell of them. */
  workerStatus(): Pick<SourceStatus, 'ok' | 'asOf' | 'error'>;
  close(): Promise<void>;
}

/** Told when a connection is there. */
export interface CollectorWatch {
  /** @param again whether it had been up before, so that something may have been missed */
  connected(place: 'broker' | 'backend', again: boolean): void;
}

/**
 * Subscribes to events and results, and goes on doing so. Each has a connection of its own, also where
 * both are on one server: a user who may hear only one of them then hears that.
 */
export function createCollector(
  { broker, backend, settings }: ResolvedOptions,
  writer: HistoryWriter,
  intake: Intake,
  watch: CollectorWatch,
): Collector {
  const ofEvents = broker === null ? [] : eventSubscriptions(settings, broker.database);
  const ofResults = backend === null ? null : resultSubscription(settings);
  const prefixLength = ofResults?.prefix.length ?? 0;
  const ofGroups = groupSubscription(settings);
  let messages = 0;

  /** Nothing that somebody else sends may throw into the host's event loop. */
  function guarded(take: RedisListener, heard: () => void): RedisListener {
    return (message, channel) => {
      heard();
      messages += 1;
      try {
        take(message, channel);
      } catch {
        writer.recordDropped(1);
      }
    };
  }

  function onUp(place: 'broker' | 'backend', again: boolean): void {
    if (place === 'broker') writer.freezeAt(null);
    if (again) writer.recordGap();
    watch.connected(place, again);
  }

  // Nobody can be heard before the first connection: that is no silence of the workers.
  if (broker !== null) writer.freezeAt(new Date());
  const events =
    broker === null
      ? null
      : createConnection({
          label: 'broker',
          open: (signal) => broker.open(signal),
          prepare: (client, heard) =>
            subscribe(
              client,
              ofEvents,
              guarded((message) => intake.takeEvents(message), heard),
            ),
          onUp: (again) => onUp('broker', again),
          onDown: (asOf) => writer.freezeAt(new Date(asOf)),
        });
  const results =
    backend === null || ofResults === null
      ? null
      : createConnection({
          label: 'result backend',
          open: (signal) => backend.open(signal),
          async prepare(client, heard) {
            await subscribe(
              client,
              [ofResults],
              guarded((message, channel) => intake.takeResult(message, channel.slice(prefixLength)), heard),
            );
            const takeGroup: RedisListener = (message, channel) =>
              intake.takeGroup(message, channel.slice(ofGroups.prefix.length));
            // A user who may not hear them still hears the results.
            await subscribe(client, [ofGroups], guarded(takeGroup, heard)).catch(() => {});
          },
          onUp: (again) => onUp('backend', again),
        });
  const connections = [events, results].filter((connection) => connection !== null);

  return {
    events,
    results,
    subscriptions: ofResults === null ? ofEvents : [...ofEvents, ofResults, ofGroups],
    messages: () => messages,
    status: () => statusOf(connections),
    workerStatus: () => statusOf(events === null ? connections : [events]),
    async close() {
      await Promise.all(connections.map((connection) => connection.close()));
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
 * With one of two connections away, what the other tells goes on being shown, as current as the older of
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
