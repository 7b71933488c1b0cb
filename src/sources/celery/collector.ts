import type { HistoryWriter } from '../../history/history.ts';
import { type Connection, createConnection } from '../../redis/connection.ts';
import type { CeleryRedisConnection, RedisListener } from '../../redis/node-redis.ts';
import type { SourceStatus } from '../../source.ts';
import { eventSubscriptions, type Subscription } from './brokers/redis/channels.ts';
import type { ConnectionState } from './connection-state.ts';
import type { Intake } from './intake.ts';
import type { ResolvedOptions } from './options.ts';
import type { PublishedResults } from './result-backend.ts';

/** A connection that may be there or not. */
interface Connected {
  state(): ConnectionState;
}

/** Listens to a deployment and tells the history. */
export interface Collector {
  /** The connection that events come over; `null` where the broker is not Redis. */
  readonly events: Connection | null;
  /** The one that results come over; `null` without a backend that can be read. */
  readonly results: PublishedResults | null;
  /** Names of the channels that are listened to. */
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
  { broker, settings }: Pick<ResolvedOptions, 'broker' | 'settings'>,
  results: PublishedResults | null,
  writer: HistoryWriter,
  intake: Intake,
  watch: CollectorWatch,
): Collector {
  const ofEvents = broker === null ? [] : eventSubscriptions(settings, broker.database);
  let messages = 0;

  /** Nothing that somebody else sends may throw into the host's event loop. */
  function guarded(take: () => void): void {
    messages += 1;
    try {
      take();
    } catch {
      writer.recordDropped(1);
    }
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
            subscribe(client, ofEvents, (message) => {
              heard();
              guarded(() => intake.takeEvents(message));
            }),
          onUp: (again) => onUp('broker', again),
          onDown: (asOf) => writer.freezeAt(new Date(asOf)),
        });
  results?.start({
    up: (again) => onUp('backend', again),
    task: (value, taskId) => guarded(() => intake.takeResult(value, taskId)),
    group: (value) => guarded(() => intake.takeGroup(value)),
    chordSize: (groupId, size) => guarded(() => intake.takeChordSize(groupId, size)),
  });
  const connections: readonly Connected[] = [events, results].filter((connection) => connection !== null);

  return {
    events,
    results,
    channels: [...ofEvents.map(({ name }) => name), ...(results?.channels ?? [])],
    messages: () => messages,
    status: () => statusOf(connections),
    workerStatus: () => statusOf(events === null ? connections : [events]),
    async close() {
      await events?.close();
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
function statusOf(connections: readonly Connected[]): Pick<SourceStatus, 'ok' | 'asOf' | 'error'> {
  let ok = true;
  let asOf: number | null = null;
  for (const connection of connections) {
    const state = connection.state();
    ok &&= state.up;
    if (state.asOf !== null) asOf = asOf === null ? state.asOf : Math.min(asOf, state.asOf);
  }
  return { ok, asOf: asOf === null ? null : new Date(asOf), error: ok ? null : 'source_unavailable' };
}
