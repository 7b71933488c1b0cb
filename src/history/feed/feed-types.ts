/** The names of changes in the feed. */
import type { TaskChange, TaskChangeType } from '../history.ts';

/** Celery's names of the changes. For a custom state that only the result backend reports, Celery sends no event. */
const FEED_TYPES: Readonly<Record<TaskChangeType, string>> = {
  sent: 'task-sent',
  received: 'task-received',
  started: 'task-started',
  succeeded: 'task-succeeded',
  failed: 'task-failed',
  retried: 'task-retried',
  revoked: 'task-revoked',
  rejected: 'task-rejected',
  requeued: 'task-rejected',
  custom: 'state-changed',
};

/** The usual name of the type; the feed would keep the copy of it that each message brings. */
export function feedTypeOf({ type, eventType }: TaskChange): string {
  const usual = FEED_TYPES[type];
  return eventType === undefined || eventType === usual ? usual : eventType;
}
