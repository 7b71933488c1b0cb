import type { HistoryWriter, TaskChange, WorkerChange } from '../../history/history.ts';
import type { SourceStatus } from '../../source.ts';
import type { BrokerEvents } from './broker.ts';
import { type CeleryEvent, taskChangeOf, workerChangeOf } from './protocol/events.ts';
import type { ResultNode, StoredResult } from './protocol/messages.ts';
import { SHORT_TEXT } from './protocol/python-json.ts';
import { decodeGroup, decodeResult, decodeResultHead } from './protocol/results.ts';
import type { PublishedResults } from './result-backend.ts';

/** The freshness of the data of a deployment. */
export type Freshness = Pick<SourceStatus, 'ok' | 'asOf' | 'error' | 'reason'>;

/** Listens to a deployment and records its messages. */
export type Collector = ReturnType<typeof createCollector>;

/**
 * Called when a connection is up.
 *
 * @param again whether it had been up before, so that messages may have been missed
 */
type OnConnected = (server: 'broker' | 'backend', again: boolean) => void;

/**
 * Subscribes to events and results. Each has a connection of its own, even on one server: a user who may
 * subscribe to only one of them still receives that one.
 */
export function createCollector(options: {
  readonly events: BrokerEvents | null;
  readonly results: PublishedResults | null;
  readonly writer: HistoryWriter;
  readonly intake: Intake;
}) {
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

  const connections = [events, results].filter((connection) => connection !== null);
  return {
    /** `null` where the broker cannot be read. */
    events,
    /** `null` without a result backend that can be read. */
    results,
    /**
     * Connects. To be called once.
     *
     * @param onGap called when events may have been missed while the connection was up
     */
    start,
    /** Names of what is subscribed. */
    channels: [...(events?.channels ?? []), ...(results?.channels ?? [])],
    /** Messages received so far. */
    messages: () => messages,
    /** The freshness of the tasks and the feed. */
    status: () => statusOf(connections),
    /** The freshness of the workers: only events report them. */
    workerStatus: () => statusOf(events === null ? connections : [events]),
  };
}

function recordLost(writer: HistoryWriter): void {
  writer.recordDropped(1);
  writer.recordGap();
}

/**
 * The status of data that several connections deliver. While one of them is down, the data stays visible
 * and is as fresh as the connection that was lost first.
 */
function statusOf(connections: readonly (BrokerEvents | PublishedResults)[]): Freshness {
  const states = connections.map((connection) => connection.state());
  const ok = states.every(({ up }) => up);
  const times = states.flatMap(({ asOf }) => asOf ?? []);
  const asOf = times.length === 0 ? null : new Date(Math.min(...times));
  const reason = states.find(({ problem }) => problem !== null)?.problem?.sentence ?? null;
  return { ok, asOf, error: ok ? null : 'source_unavailable', reason };
}

/** The content type of bodies that were parsed. */
const JSON_TYPE = 'application/json';

/** The beginning of a published result that takes too long to read: it shows the state, in characters. */
const HEAD = 256;
/** A longer result is read like that at once, in characters. */
const LONGEST_RESULT = 16 * 1024 * 1024;

/** Observers that are called for each message after the history. */
export interface IntakeWatch {
  /** A task has changed, as an event reports. */
  changed(change: TaskChange): void;
  /** A published result, before it is recorded. */
  published?(result: StoredResult): void;
  /** A published result, after it was recorded. */
  stored(result: StoredResult): void;
  /** A published result may have been missed. */
  missed?(): void;
  /** A published group. */
  saved(group: ResultNode): void;
  /** An event of a worker. */
  worker(change: WorkerChange): void;
  /** A message of events that could not be read; with its content type, `null` when it names none. */
  unreadableEvent(contentType: string | null): void;
  /** A published result that could not be read. */
  unreadableResult(message: string): void;
}

/** Decodes messages and records them in a history. */
export type Intake = ReturnType<typeof createIntake>;

function readResult(message: string, taskId: string, valueLength: number): StoredResult | null {
  const isTooLong = message.length > LONGEST_RESULT;
  const result = isTooLong ? null : decodeResult(message, taskId, valueLength);
  if (result !== null || message.length <= SHORT_TEXT) return result;
  return decodeResultHead(message.slice(0, HEAD), taskId);
}

/**
 * @param writer records everything; unreadable messages are counted
 * @param watch is called with the same
 * @param valueLength longest text of one stored value, in characters
 */
export function createIntake(writer: HistoryWriter, watch: IntakeWatch, valueLength: number) {
  let dropped = 0;

  function drop(): void {
    dropped += 1;
    writer.recordDropped(1);
  }

  function dropEvent(contentType: string | null): void {
    drop();
    watch.unreadableEvent(contentType);
  }

  /** @returns false when it could not be read */
  function takeEvent(event: unknown): boolean {
    const type = typeof event === 'object' && event !== null ? (event as CeleryEvent).type : undefined;
    if (typeof type !== 'string') return false;
    if (type.startsWith('task-')) {
      const change = taskChangeOf(event as CeleryEvent);
      if (change === null) return false;
      writer.recordTask(change);
      watch.changed(change);
    } else if (type.startsWith('worker-')) {
      const change = workerChangeOf(event as CeleryEvent);
      if (change === null) return true;
      writer.recordWorker(change);
      watch.worker(change);
    }
    return true;
  }

  return {
    /** Takes messages of the broker. */
    events: {
      message(body: unknown) {
        for (const event of Array.isArray(body) ? body : [body]) if (!takeEvent(event)) dropEvent(JSON_TYPE);
      },
      unreadable: dropEvent,
    },
    /** A message of a result channel. */
    takeResult(message: string, taskId: string) {
      const result = readResult(message, taskId, valueLength);
      if (result === null) {
        drop();
        return watch.unreadableResult(message);
      }
      watch.published?.(result);
      writer.recordTask(result.change);
      watch.stored(result);
    },
    /** A published group. */
    takeGroup(message: string) {
      const group = decodeGroup(message);
      if (group !== null) watch.saved(group);
    },
    /** A published result may have been missed. */
    missResult: () => watch.missed?.(),
    /** Messages and events that could not be read. */
    dropped: () => dropped,
  };
}
