/** Reads the members of sets: what several sets wait for is sent together. */
import { nextTick } from 'node:process';
import { asScored, asTexts } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { keyCommand, type QueueCommand, type ReadCommands } from '../access/queue-reads.ts';
import type { SetEntry } from '../jobs/job-hash.ts';
import type { JobSet } from '../jobs/job-sets.ts';

/** Commands that one set waits for. */
interface WaitingRead {
  readonly commands: readonly QueueCommand[];
  resolve(replies: readonly unknown[]): void;
  reject(error: unknown): void;
}

/**
 * Sends the commands of several sets to Redis together. Each set sends its own commands; all commands before
 * Node's next tick become one read.
 */
export function batchReads(access: QueueAccess): ReadCommands {
  let waiting: WaitingRead[] = [];

  async function send(): Promise<void> {
    const batch = waiting;
    waiting = [];
    try {
      const replies = await access.read(batch.flatMap(({ commands }) => commands));
      let from = 0;
      for (const { commands, resolve } of batch) {
        resolve(replies.slice(from, from + commands.length));
        from += commands.length;
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return (commands) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ commands, resolve, reject }) === 1) nextTick(send);
    });
}

/** A member of a set. */
export type SetMember = Pick<SetEntry, 'id' | 'score'>;

/** A set of a queue. */
type QueueSet = Pick<SetEntry, 'queue' | 'set'>;

/** Reads members by their rank, counted from the end at which jobs join a list, or from the highest score. */
export type ReadMembers = (from: QueueSet, first: number, last: number) => Promise<readonly SetMember[]>;

/** Members of a head: those of a usual page, and more. */
const HEAD = 128;

/**
 * @param begins sets of one queue whose first members are read at once, and so with the counts: most pages need no
 *   others
 */
export function createMembers(read: ReadCommands, begins: readonly QueueSet[]): ReadMembers {
  const heads = new Map<JobSet, Promise<readonly SetMember[]>>();
  for (const from of begins) {
    const head = readRanks(read, from, 0, HEAD - 1);
    // If it is not needed, it is not awaited.
    head.catch(() => {});
    heads.set(from.set, head);
  }
  return async (from, first, last) => {
    const head = last < HEAD ? await heads.get(from.set) : undefined;
    return head?.slice(first, last + 1) ?? readRanks(read, from, first, last);
  };
}

async function readRanks(
  read: ReadCommands,
  { queue, set: { part, kind } }: QueueSet,
  first: number,
  last: number,
): Promise<readonly SetMember[]> {
  if (kind === 'list') {
    const [reply] = await read([keyCommand(queue, 'LRANGE', part, first, last)]);
    return asTexts(reply).map((id) => ({ id, score: null }));
  }
  const [reply] = await read([keyCommand(queue, 'ZREVRANGE', part, first, last, 'WITHSCORES')]);
  return asScored(reply).map(({ member, score }) => ({ id: member, score }));
}
