/** What the rules judge of a Celery deployment: the history's, with what only the collector knows. */
import type { HistoryIndex, HistoryReader } from '../../history/history.ts';
import type { Activity, ReadContext } from '../../source.ts';
import type { Collection } from './collection.ts';
import { waitingGroups } from './queues/oldest-due.ts';

/** What is put together. */
export interface ActivityParts {
  readonly reader: Pick<HistoryReader, 'getActivity'>;
  readonly index: Pick<HistoryIndex, 'sentAt'>;
  readonly collection: Pick<Collection, 'blind' | 'queues'>;
}

/** Tasks wait where their messages are; a task that the history takes for waiting may have run unseen. */
export async function readActivity(
  { reader, index, collection }: ActivityParts,
  context: ReadContext,
): Promise<Activity> {
  const activity = await reader.getActivity(context);
  const blind = collection.blind();
  const { queues } = collection;
  if (queues === null) return { ...activity, blind };
  // The queues are read less often while nobody asks.
  queues.asked();
  const waiting = waitingGroups(queues.index().messages, index.sentAt, Date.now());
  return { ...activity, blind, open: { ...activity.open, waiting } };
}
