import type { TaskHistory } from '../../history/task-history.ts';
import { decodeEnvelope } from './envelope.ts';
import { type CeleryEvent, taskChangeOf } from './events.ts';
import { decodeResult } from './results.ts';
import { workerChangeOf } from './worker-events.ts';

/** Turns raw messages into entries of a history. */
export interface Intake {
  /** A message of an event channel: one event, or several. */
  takeEvents(message: string): void;
  /** A message of a result channel. */
  takeResult(message: string, taskId: string): void;
  /** Messages and events that could not be read. */
  dropped(): number;
}

/**
 * @param history is told everything, what could not be read included
 * @param valueLength longest text to make of one stored value, in characters
 */
export function createIntake(history: TaskHistory, valueLength: number): Intake {
  let dropped = 0;

  function drop(): void {
    dropped += 1;
    history.recordDropped(1);
  }

  function takeEvent(event: unknown): void {
    const type = typeof event === 'object' && event !== null ? (event as CeleryEvent).type : undefined;
    if (typeof type !== 'string') {
      drop();
    } else if (type.startsWith('task-')) {
      const change = taskChangeOf(event as CeleryEvent);
      if (change === null) drop();
      else history.recordTask(change);
    } else if (type.startsWith('worker-')) {
      const change = workerChangeOf(event as CeleryEvent);
      if (change !== null) history.recordWorker(change);
    }
  }

  return {
    takeEvents(message) {
      const body = decodeEnvelope(message);
      if (Array.isArray(body)) for (const event of body) takeEvent(event);
      else takeEvent(body);
    },
    takeResult(message, taskId) {
      const change = decodeResult(message, taskId, valueLength);
      if (change === null) drop();
      else history.recordTask(change);
    },
    dropped: () => dropped,
  };
}
