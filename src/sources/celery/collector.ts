import type { HistoryWriter } from '../../history/history.ts';
import type { ConnectionState } from '../../kept-connection.ts';
import type { SourceStatus } from '../../source.ts';
import type { BrokerEvents } from './broker.ts';
import type { Intake } from './intake.ts';
import type { Problem } from './problem.ts';
import type { PublishedResults } from './result-backend.ts';

/** The freshness of the data of some connections. */
type Freshness = Pick<SourceStatus, 'ok' | 'asOf' | 'error' | 'reason'>;

/** Listens to a deployment and records its messages. */
export interface Collector {
  /** `null` where the broker cannot be read. */
  readonly events: BrokerEvents | null;
  /** `null` without a result backend that can be read. */
  readonly results: PublishedResults | null;
  /** Names of what is subscribed. */
  readonly channels: readonly string[];
  /**
   * Connects. To be called once.
   *
   * @param onGap called when events may have been missed while the connection was up
   */
  start(onConnected: OnConnected, onGap: () => void): void;
  /** Messages received so far. */
  messages(): number;
  /** The freshness of the tasks and the feed. */
  status(): Freshness;
  /** The freshness of the workers: only events report them. */
  workerStatus(): Freshness;
}

/** Parameters of a collector. */
export interface CollectorOptions {
  readonly events: BrokerEvents | null;
  readonly results: PublishedResults | null;
  readonly writer: HistoryWriter;
  readonly intake: Intake;
}

/**
 * Called when a connection is up.
 *
 * @param again whether it had been up before, so that messages may have been missed
 */
export type OnConnected = (server: 'broker' | 'backend', again: boolean) => void;

/**
 * Subscribes to events and results. Each has a connection of its own, even on one server: a user who may
 * subscribe to only one of them still receives that one.
 */
export function createCollector(options: CollectorOptions): Collector {
  const { events, results, writer, intake } = options;
  let messages = 0;

  /** A message from outside must never throw into the host's event loop. */
  function guarded(take: () => void, count = 1): void {
    messages += count;
    try {
      take();
    } catch {
      writer.recordDropped(1);
    }
  }

  function start(onConnected: OnConnected, onGap: () => void): void {
    // Before the first connection, no worker counts as silent.
    if (events !== null) writer.freezeAt(new Date());
    events?.start({
      message: (body, isContinued) =>
        guarded(() => intake.events.message(body), isContinued === true ? 0 : 1),
      lost: () => recordLost(writer),
      unreadable: (contentType) => guarded(() => intake.events.unreadable(contentType)),
      up(again) {
        writer.freezeAt(null);
        if (again) writer.recordGap();
        onConnected('broker', again);
      },
      gap() {
        writer.recordGap();
        onGap();
      },
      down: (asOf) => writer.freezeAt(new Date(asOf)),
    });
    results?.start({
      up(again) {
        if (again) writer.recordGap();
        intake.missResult();
        onConnected('backend', again);
      },
      task: (value, taskId) => guarded(() => intake.takeResult(value, taskId)),
      group: (value) => guarded(() => intake.takeGroup(value)),
      lost() {
        recordLost(writer);
        intake.missResult();
      },
    });
  }

  const connections: readonly Connected[] = [events, results].filter((connection) => connection !== null);
  return {
    events,
    results,
    start,
    channels: [...(events?.channels ?? []), ...(results?.channels ?? [])],
    messages: () => messages,
    status: () => statusOf(connections),
    workerStatus: () => statusOf(events === null ? connections : [events]),
  };
}

interface Connected {
  state(): ConnectionState<Problem>;
}

function statusOf(connections: readonly Connected[]): Freshness {
  return statusOfConnections(connections.map((connection) => connection.state()));
}

function recordLost(writer: HistoryWriter): void {
  writer.recordDropped(1);
  writer.recordGap();
}

/**
 * The status of data that several connections deliver. While one of them is down, the data stays visible
 * and is as fresh as the connection that was lost first.
 */
function statusOfConnections(
  states: readonly ConnectionState<Problem>[],
): Pick<SourceStatus, 'ok' | 'asOf' | 'error' | 'reason'> {
  const ok = states.every(({ up }) => up);
  const times = states.flatMap(({ asOf }) => asOf ?? []);
  const asOf = times.length === 0 ? null : new Date(Math.min(...times));
  const reason = states.find(({ problem }) => problem !== null)?.problem?.sentence ?? null;
  return { ok, asOf, error: ok ? null : 'source_unavailable', reason };
}
