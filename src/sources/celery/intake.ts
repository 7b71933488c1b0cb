import type { HistoryWriter, TaskChange, WorkerChange } from '../../history/history.ts';
import type { EventHandlers } from './broker.ts';
import { type CeleryEvent, taskChangeOf, workerChangeOf } from './protocol/events.ts';
import type { ResultNode, StoredResult } from './protocol/messages.ts';
import { SHORT_TEXT } from './protocol/python-json.ts';
import { decodeGroup } from './protocol/result-nodes.ts';
import { decodeResult, decodeResultHead } from './protocol/results.ts';

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
export interface Intake {
  /** Takes messages of the broker. */
  readonly events: Pick<EventHandlers, 'message' | 'unreadable'>;
  /** A message of a result channel. */
  takeResult(message: string, taskId: string): void;
  /** A published group. */
  takeGroup(message: string): void;
  /** A published result may have been missed. */
  missResult(): void;
  /** Messages and events that could not be read. */
  dropped(): number;
}

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
export function createIntake(writer: HistoryWriter, watch: IntakeWatch, valueLength: number): Intake {
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
    events: {
      message(body) {
        for (const event of Array.isArray(body) ? body : [body]) if (!takeEvent(event)) dropEvent(JSON_TYPE);
      },
      unreadable: dropEvent,
    },
    takeResult(message, taskId) {
      const result = readResult(message, taskId, valueLength);
      if (result === null) {
        drop();
        return watch.unreadableResult(message);
      }
      watch.published?.(result);
      writer.recordTask(result.change);
      watch.stored(result);
    },
    takeGroup(message) {
      const group = decodeGroup(message);
      if (group !== null) watch.saved(group);
    },
    missResult: () => watch.missed?.(),
    dropped: () => dropped,
  };
}
