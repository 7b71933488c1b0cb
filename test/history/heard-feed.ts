/** Feeds that take in what others have heard. */
import type { HeardItem } from '../../src/history/memory/tap.ts';
import { createMemoryHistory, type MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import type { TaskEventPage, TaskEventQuery } from '../../src/source.ts';
import { CONTEXT, T0, told } from './telling.ts';

export function feedOf(options: MemoryHistoryOptions = {}, startedAt = T0) {
  let now = startedAt;
  const history = createMemoryHistory({ now: () => now, ...options });
  const { access } = history;
  return {
    history,
    access,
    instance: access.instance,
    at(time: number) {
      now = T0 + time;
    },
    /** Hears of tasks, each a second after the one before. */
    hear(...ids: string[]) {
      for (const id of ids) {
        now += 1_000;
        history.writer.recordTask(told({ id, type: 'sent', time: now }));
      }
    },
    items: (after = 0, most = 1_000) => access.readEvents(after, most),
    read: async (query: Partial<TaskEventQuery> = {}): Promise<TaskEventPage> =>
      await history.reader.listEvents(
        { limit: 50, since: null, states: [], workers: [], tasks: [], ...query },
        CONTEXT,
      ),
  };
}

export type Feed = ReturnType<typeof feedOf>;

export const ids = ({ events }: TaskEventPage) => events.map(({ taskId }) => taskId).reverse();
export const absorb = (feed: Feed, instance: string, items: readonly HeardItem[]) => {
  for (const _ of feed.access.absorbEvents(new Map([[instance, items]])));
};
export const take = (feed: Feed, from: Feed, items: readonly HeardItem[] = from.items()) =>
  absorb(feed, from.instance, items);
export const goOn = (feed: Feed, { cursor }: TaskEventPage) => feed.read({ since: { cursor } });
