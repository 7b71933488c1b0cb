/** Messages of queues that are too long to copy, found by id: those listed lately, and those near the ends. */
import type { RedisReader } from '../../../redis/reader.ts';
import { decodeWaiting } from '../protocol/queue-message.ts';
import { type HeldMessage, holdMessage } from './held-message.ts';
import { type HeldTasks, holdTasks, NO_TASKS } from './held-tasks.ts';
import type { LiveWalk } from './live-walk.ts';
import { walkLive } from './live-walk.ts';
import { FIRST_PLACE } from './place.ts';
import type { QueueList } from './queue-list.ts';
import { texts } from './replies.ts';

/** Most messages that are looked at for one id, and their characters. */
const MAX_SEARCHED = 5000;
const MAX_READ = 16 * 1024 * 1024;
/** How long what was found, or not, counts as current, in milliseconds. */
const SEARCH_HOLD = 1500;
/** Rows listed lately, and how long they are remembered, in milliseconds. */
const MAX_LISTED = 2000;
const LISTED_FOR = 30_000;

/** Finds messages that are not copied. */
export interface RecentMessages {
  /** Remembers one that was listed. */
  listed(message: HeldMessage): void;
  /** One that was listed lately. */
  get(id: string): HeldMessage | undefined;
  /** Looks at the ends of all queues; whoever asks meanwhile shares the answer. Never rejects. */
  search(): Promise<HeldTasks>;
  /** What the last search found, if it was just now. */
  found(): HeldTasks;
}

/** @param now milliseconds since 1970 */
export function createRecentMessages(walk: LiveWalk, now: () => number): RecentMessages {
  const listed = new Map<string, { readonly message: HeldMessage; readonly at: number }>();
  let searching: Promise<HeldTasks> | null = null;
  let found = NO_TASKS;
  let foundAt = Number.NEGATIVE_INFINITY;

  async function searchEnds(): Promise<HeldTasks> {
    const messages: HeldMessage[] = [];
    let left = MAX_READ;
    const lists = walk.poll.lists().filter((list) => list.length() > 0);
    const share = Math.max(1, Math.floor(MAX_SEARCHED / (2 * lists.length + 1)));
    const take = (more: readonly HeldMessage[]): boolean => {
      messages.push(...more);
      for (const message of more) left -= message.bytes;
      return left > 0;
    };
    try {
      await searchTaken(walk, share, take);
      for (const list of lists) await searchList(walk.reader, list, share, take);
    } catch {
      // The source's status tells that Redis is away; what was found until then is found.
    }
    return holdTasks(messages);
  }

  return {
    listed(message) {
      const id = message.facts?.id;
      if (id === undefined) return;
      listed.delete(id);
      if (listed.size >= MAX_LISTED) listed.delete(listed.keys().next().value as string);
      listed.set(id, { message, at: now() });
    },
    get(id) {
      const known = listed.get(id);
      return known !== undefined && now() - known.at < LISTED_FOR ? known.message : undefined;
    },
    search() {
      if (now() - foundAt < SEARCH_HOLD) return Promise.resolve(found);
      searching ??= searchEnds().then((tasks) => {
        found = tasks;
        foundAt = now();
        searching = null;
        return tasks;
      });
      return searching;
    },
    found: () => (now() - foundAt < SEARCH_HOLD ? found : NO_TASKS),
  };
}

/** Takes messages. @returns whether there is room for more */
type Take = (messages: readonly HeldMessage[]) => boolean;

async function searchTaken(walk: LiveWalk, most: number, take: Take): Promise<void> {
  let looked = 0;
  for await (const part of walkLive(walk, FIRST_PLACE, () => most - looked, {})) {
    looked += part.looked;
    if (part.place.phase !== 'taken') return;
    if (!take(part.messages.map(({ message }) => message)) || looked >= most) return;
  }
}

/** The newest messages of a list, and those that run next. */
async function searchList(reader: RedisReader, list: QueueList, most: number, take: Take): Promise<void> {
  for (const side of ['right', 'left']) {
    for (let read = 0; read < most; ) {
      const size = list.window.size(most - read);
      const [start, stop] = side === 'left' ? [read, read + size - 1] : [-read - size, -read - 1];
      const raws = texts(await reader.command(['LRANGE', list.key, String(start), String(stop)]));
      list.window.saw(raws);
      if (!take(raws.map((raw) => holdMessage(raw, decodeWaiting(raw, list.queue))))) return;
      if (raws.length < size) return;
      read += raws.length;
    }
  }
}
