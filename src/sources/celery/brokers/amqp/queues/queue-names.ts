/** Which queues of RabbitMQ hold tasks. */
import { filledString } from '../../../../../values.ts';
import { isDelayedName } from '../../../protocol/delayed-names.ts';
import type { CelerySettings } from '../../../settings.ts';
import { OWN_PREFIX } from '../control/control-names.ts';
import type { ManagedQueue } from '../management/managed-queues.ts';

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The kinds of queues of the broker. */
export interface QueueKinds {
  /** Whether a queue may hold messages of tasks, also delayed ones. */
  mayHoldTasks(name: string, queue?: ManagedQueue): boolean;
  /** Whether a queue is shown: workers take tasks from it. */
  isTaskQueue(name: string, queue?: ManagedQueue): boolean;
}

/** Distinguishes queues of tasks from those of events, of remote control and of results. */
export function queueKinds({ event_queue_prefix: prefix }: CelerySettings): QueueKinds {
  const ofEvents = `${filledString(prefix) ?? 'celeryev'}.`;
  const mayHoldTasks = (name: string, queue?: ManagedQueue): boolean => {
    if (name === '' || name.endsWith('.pidbox') || name.startsWith(ofEvents)) return false;
    if (name.startsWith(OWN_PREFIX) || queue?.isExclusive === true) return false;
    // Results of the `rpc` backend.
    return !(queue?.isAutoDelete === true && UUID.test(name));
  };
  return {
    mayHoldTasks,
    isTaskQueue: (name, queue) => mayHoldTasks(name, queue) && !isDelayedName(name),
  };
}

/** Names that the host gives, and those in the settings. */
export function configuredQueues(
  { task_queues: queues }: CelerySettings,
  given: readonly string[],
): string[] {
  if (typeof queues !== 'object' || queues === null) return [...given];
  const listed = Array.isArray(queues) ? queues : Object.keys(queues);
  return [
    ...given,
    ...listed.flatMap((queue: unknown) => {
      const own = typeof queue === 'object' && queue !== null ? (queue as { name?: unknown }).name : queue;
      return filledString(own) ?? [];
    }),
  ];
}
