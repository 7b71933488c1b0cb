import type { HistoryWriter, TaskChange, WorkerChange } from '../../history/history.ts';
import { decodeEnvelope } from './protocol/envelope.ts';
import { type CeleryEvent, taskChangeOf } from './protocol/events.ts';
import type { ResultNode, StoredResult } from './protocol/messages.ts';
import { decodeGroup } from './protocol/result-nodes.ts';
import { decodeResult } from './protocol/results.ts';
import { workerChangeOf } from './protocol/worker-events.ts';

/** Who else wants to know what comes in, after the history. */
export interface IntakeWatch {
  /** An event about a task. */
  changed(change: TaskChange): void;
  /** A published result. */
  stored(result: StoredResult): void;
  /** A published group. */
  saved(group: ResultNode): void;
  /** The published size of a chord's header. */
  sized(groupId: string, size: number): void;
  /** An event of a worker. */
  worker(change: WorkerChange): void;
  /** A message that could not be read. */
  unreadable(place: 'event' | 'result', message: string): void;
}

/** Turns raw messages into entries of a history. */
export interface Intake {
  /** A message of an event channel: one event, or several. */
  takeEvents(message: string): void;
  /** A message of a result channel. */
  takeResult(message: string, taskId: string): void;
  /** A published group. */
  takeGroup(message: string): void;
  /** The published size of a chord's header. */
  takeChordSize(groupId: string, size: number): void;
  /** Messages and events that could not be read. */
  dropped(): number;
}

/**
 * @param history is told everything, what could not be read included
 * @param watch is told the same
 * @param valueLength longest text to make of one stored value, in characters
 */
export function createIntake(writer: HistoryWriter, watch: IntakeWatch, valueLength: number): Intake {
  let dropped = 0;

  function drop(place: 'event' | 'result', message: string): void {
    dropped += 1;
    writer.recordDropped(1);
    watch.unreadable(place, message);
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
    takeEvents(message) {
      const body = decodeEnvelope(message);
      if (!Array.isArray(body)) {
        if (!takeEvent(body)) drop('event', message);
        return;
      }
      for (const event of body) if (!takeEvent(event)) drop('event', message);
    },
    takeResult(message, taskId) {
      const result = decodeResult(message, taskId, valueLength);
      if (result === null) return drop('result', message);
      writer.recordTask(result.change);
      watch.stored(result);
    },
    takeGroup(message) {
      const group = decodeGroup(message);
      if (group !== null) watch.saved(group);
    },
    takeChordSize: (groupId, size) => watch.sized(groupId, size),
    dropped: () => dropped,
  };
}
