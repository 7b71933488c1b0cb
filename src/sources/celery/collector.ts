import type { HistoryWriter } from '../../history/history.ts';
import { type Connection, createConnection } from '../../redis/connection.ts';
import type { RedisListener } from '../../redis/node-redis.ts';
import type { SourceStatus } from '../../source.ts';
import type { BrokerEvents } from './broker.ts';
import { groupSubscription, resultSubscription } from './brokers/redis/channels.ts';
import { subscribe } from './brokers/redis/events.ts';
import { type ConnectionState, statusOfConnections } from './connection-state.ts';
import type { Intake } from './intake.ts';
import type { ResolvedOptions } from './options.ts';

/** Listens to a deployment and tells the history. */
export interface Collector {
  /** `null` where the broker cannot be read. */
  readonly events: BrokerEvents | null;
  /** The one that results come over; `null` without a backend in Redis. */
  readonly results: Connection | null;
  /** Names of what is subscribed. */
  readonly channels: readonly string[];
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
  events: BrokerEvents | null,
  { backend, settings }: Pick<ResolvedOptions, 'backend' | 'settings'>,
  writer: HistoryWriter,
  intake: Intake,
  watch: CollectorWatch,
): Collector {
  const ofResults = backend === null ? null : resultSubscription(settings);
  const prefixLength = ofResults?.prefix.length ?? 0;
  const ofGroups = groupSubscription(settings);
  let messages = 0;

  /** Nothing that somebody else sends may throw into the host's event loop. */
  function guard(take: () => void): void {
    messages += 1;
    try {
      take();
    } catch {
      writer.recordDropped(1);
    }
  }

  function guarded(take: RedisListener, heard: () => void): RedisListener {
    return (message, channel) => {
      heard();
      guard(() => take(message, channel));
    };
  }

  function onUp(place: 'broker' | 'backend', again: boolean): void {
    if (place === 'broker') writer.freezeAt(null);
    if (again) writer.recordGap();
    watch.connected(place, again);
  }

  // Nobody can be heard before the first connection: that is no silence of the workers.
  if (events !== null) writer.freezeAt(new Date());
  events?.start({
    message: (body) => guard(() => intake.events.message(body)),
    unreadable: (contentType) => guard(() => intake.events.unreadable(contentType)),
    up: (again) => onUp('broker', again),
    down: (asOf) => writer.freezeAt(new Date(asOf)),
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
  const connections: readonly { state(): ConnectionState }[] = [events, results].filter(
    (connection) => connection !== null,
  );
  const statusOf = (all: typeof connections) => statusOfConnections(all.map(({ state }) => state()));

  return {
    events,
    results,
    channels: [...(events?.channels ?? []), ...(ofResults === null ? [] : [ofResults.name, ofGroups.name])],
    messages: () => messages,
    status: () => statusOf(connections),
    workerStatus: () => statusOf(events === null ? connections : [events]),
    async close() {
      await results?.close();
    },
  };
}
