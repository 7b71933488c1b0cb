/**
 * Looks at all queues about once a second: how long they are, and what is new. While they hold a few
 * thousand messages, all of them are copied; of more, only the newest are looked at.
 */
import type { QueueDepth } from '../../../model.ts';
import type { RedisProblem } from '../../../redis/problems.ts';
import type { RedisReader } from '../../../redis/reader.ts';
import { depthsOf } from './depths.ts';
import type { HeldMessage } from './held-message.ts';
import { type HeldTasks, holdTasks } from './held-tasks.ts';
import { type Allowance, TooMuch } from './list-mirror.ts';
import type { MessageIntake } from './message-intake.ts';
import type { QueueKeys } from './queue-keys.ts';
import { createQueueList, type QueueList } from './queue-list.ts';
import type { QueueNames } from './queue-names.ts';
import { ask, count, problemOf, REFUSED, texts } from './replies.ts';
import { createTakenMirror, type TakenEnds } from './taken-mirror.ts';
import { createWindow } from './window.ts';

/** Most messages that are copied, and what they may take in memory. */
const MAX_MESSAGES = 10_000;
const MAX_BYTES = 32 * 1024 * 1024;
/** Characters that one look may read. */
const MAX_READ = 64 * 1024 * 1024;
/** Messages that one look takes in while there are too many to copy. */
const MAX_PEEKED = 300;

/** What is known of the queues. */
export interface QueuePoll {
  /** Looks once. Never rejects. */
  look(now: number): Promise<void>;
  /** Every message, when there are few enough; `null` when not. */
  held(): HeldTasks | null;
  /** In the order in which they are listed. */
  lists(): readonly QueueList[];
  /** Messages that workers have taken, as copied; none when there are too many. */
  taken(): readonly HeldMessage[];
  takenCount(): number;
  depths(): QueueDepth[];
  /** Changes whenever something above did. */
  revision(): number;
  /** Whether the last look succeeded; `null` before the first. */
  isCurrent(): boolean | null;
  /** Why the last look failed, or what it was refused. */
  problem(): RedisProblem | null;
}

/** @param intake is told each message */
export function createQueuePoll(
  reader: RedisReader,
  keys: QueueKeys,
  names: QueueNames,
  intake: MessageIntake,
): QueuePoll {
  const takenWindow = createWindow();
  const createTaken = () => createTakenMirror(reader, keys, takenWindow, intake.taken);
  let taken = createTaken();
  let takenEnds: TakenEnds = { length: 0, newest: [] };
  let refusal: RedisProblem | null = null;
  let seesTaken = false;
  let lists: readonly QueueList[] = [];
  let listed = '';
  let isWhole = false;
  let hasCopies = false;
  /** Above this many the queues turned out to be too much to copy. */
  let most = MAX_MESSAGES;
  let revision = 0;
  let held: { readonly revision: number; readonly tasks: HeldTasks } | null = null;
  let isCurrent: boolean | null = null;
  let problem: RedisProblem | null = null;

  function updateLists(): void {
    const queues = names.list();
    const all = queues.join('\n');
    if (all === listed) return;
    listed = all;
    const known = new Map(lists.map((list) => [list.key, list]));
    lists = queues.flatMap((queue) =>
      keys.steps.map(
        (priority, step) =>
          known.get(keys.list(queue, priority)) ?? createQueueList(reader, keys, { queue, step }, intake),
      ),
    );
    revision += 1;
  }

  /** @returns whether something changed */
  async function lookAtEnds(now: number): Promise<boolean> {
    const questions = lists.map((list) => list.questions(now));
    const newest = ['ZREVRANGE', keys.takenIndex, '0', '0', 'WITHSCORES'];
    const { list: replies, problem: refused } = await ask(reader, [
      ['ZCARD', keys.takenIndex],
      newest,
      ...questions.flat(),
    ]);
    refusal = refused;
    let isChanged = takenEnds.length !== count(replies[0]);
    seesTaken = replies[0] !== REFUSED;
    takenEnds = { length: count(replies[0]), newest: texts(replies[1]) };
    let at = 2;
    lists.forEach((list, index) => {
      const asked = questions[index]?.length ?? 0;
      isChanged = list.look(replies.slice(at, at + asked), now) || isChanged;
      at += asked;
    });
    return isChanged;
  }

  async function copy(now: number): Promise<boolean> {
    let read = 0;
    let messages = 0;
    const allowance: Allowance = {
      spend(more, elements) {
        messages += more.length;
        for (const element of elements) read += element.length;
        if (read > MAX_READ || messages > 2 * MAX_MESSAGES) throw new TooMuch();
      },
    };
    hasCopies = true;
    let isChanged = false;
    for (const list of lists) isChanged = (await list.sync(allowance, now)) || isChanged;
    isChanged = (await taken.sync(takenEnds, allowance, now)) || isChanged;
    let bytes = 0;
    for (const message of everything()) bytes += message.bytes;
    if (bytes > MAX_BYTES) throw new TooMuch();
    return isChanged;
  }

  function* everything(): Generator<HeldMessage> {
    yield* taken.entries();
    for (const list of lists) yield* list.mirror().entries().toReversed();
  }

  function release(): void {
    if (!hasCopies) return;
    hasCopies = false;
    isWhole = false;
    taken = createTaken();
    for (const list of lists) list.release();
  }

  async function peek(): Promise<boolean> {
    const waiting = lists.filter((list) => list.length() > 0);
    let left = MAX_PEEKED;
    let isChanged = false;
    for (const [index, list] of waiting.entries()) {
      const read = await list.peek(Math.ceil(left / (waiting.length - index)));
      left -= read;
      isChanged ||= read > 0;
    }
    return isChanged;
  }

  /** @returns whether something that is shown changed */
  async function copyOrPeek(now: number): Promise<boolean> {
    const total = lists.reduce((sum, list) => sum + list.length(), takenEnds.length);
    const wasWhole = isWhole;
    if (total <= most && refusal === null) {
      try {
        const isChanged = await copy(now);
        isWhole = true;
        most = MAX_MESSAGES;
        return isChanged || !wasWhole;
      } catch (error) {
        if (!(error instanceof TooMuch)) throw error;
        // Tried again when half of them are gone.
        most = Math.floor(total / 2);
      }
    } else if (isWhole) {
      // Not at once again: copying is the dear part.
      most = Math.min(most, 0.8 * MAX_MESSAGES);
    }
    release();
    return (await peek()) || wasWhole;
  }

  async function read(now: number): Promise<void> {
    let isChanged = await lookAtEnds(now);
    try {
      isChanged = (await copyOrPeek(now)) || isChanged;
    } finally {
      // Once, at the end: length and rows change together.
      if (isChanged) revision += 1;
    }
  }

  function tasks(): HeldTasks {
    if (held?.revision !== revision) held = { revision, tasks: holdTasks(everything()) };
    return held.tasks;
  }

  return {
    async look(now) {
      let found: RedisProblem | null = null;
      try {
        await names.step(now).catch((error: unknown) => {
          found = problemOf(error);
        });
        updateLists();
        await read(now);
        isCurrent = true;
      } catch (error) {
        found = problemOf(error);
        isCurrent = false;
      }
      // Not before the end: nobody should see it mended for a moment.
      problem = found ?? refusal;
      intake.offerAgain((id) => isWhole && tasks().get(id) !== undefined, now);
    },
    held: () => (isWhole ? tasks() : null),
    lists: () => lists,
    taken: () => taken.entries(),
    takenCount: () => takenEnds.length,
    depths: () =>
      depthsOf(names, lists, seesTaken ? takenEnds.length : null, isWhole ? taken.entries() : null),
    revision: () => revision,
    isCurrent: () => isCurrent,
    problem: () => problem,
  };
}
