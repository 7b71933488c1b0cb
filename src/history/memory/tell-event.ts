import type { TaskChange } from '../changes.ts';
import type { EventListener, HeardEvent } from '../heard-events.ts';
import type { TaskEntry, TaskRecord } from '../merge/record.ts';

/** Tells listeners of a change that has been merged into its record, if it is a live event. */
export function tellEvent(
  listeners: ReadonlySet<EventListener>,
  record: TaskRecord,
  change: TaskChange,
): void {
  if (change.origin !== 'event' || change.stored === true) return;
  const sent = record.entries.findLast(isHeardSending);
  const event: HeardEvent = {
    change,
    name: record.name,
    queue: sent === undefined ? null : record.queue,
    sentAt: sent?.time ?? null,
    eta: record.eta,
  };
  for (const listener of listeners) listener(event);
}

function isHeardSending({ kind, origin, isStored }: TaskEntry): boolean {
  return kind === 'sent' && origin === 'event' && !isStored;
}
