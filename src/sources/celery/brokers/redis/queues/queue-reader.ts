/**
 * Reads the queues of a deployment from Redis: their lengths, their messages and the unacknowledged messages.
 * Of long queues, only those messages are read that run next, and the newest.
 */
import { describeError, RedisError, redisError } from '../../../../../redis/problems.ts';
import type { Outcome, RedisReader } from '../../../../../redis/reader.ts';
import { asCount, asTexts } from '../../../../../redis/replies.ts';
import type { ServerProblem } from '../../../../../server-problems.ts';
import {
  NOTHING_READ,
  type QueueCounts,
  type QueueReader,
  type QueueReading,
  type TakeMessage,
  type WaitingMessage,
} from '../../../broker.ts';
import { shown } from '../../../hint.ts';
import type { CelerySettings } from '../../../settings.ts';
import { isWhole, type ListWindow, messagesOf, newListWindow, readList } from './list-window.ts';
import { createQueueNames, type QueueKeys, type QueueNames, queueKeys } from './queue-names.ts';
import { createReadBudget, type ReadBudget } from './read-budget.ts';
import { isTakenWhole, newTakenMirror, syncTaken, type TakenMirror } from './taken-mirror.ts';

/** Most messages that are read of one list, of those that run next, and of all lists together. */
const MOST_NEXT = 1_000;
const MOST_MESSAGES = 10_000;
const COMMANDS_AT_ONCE = 200;

interface ReaderState {
  readonly reader: RedisReader;
  readonly keys: QueueKeys;
  readonly names: QueueNames;
  readonly budget: ReadBudget;
  /** In the order in which they are listed: by queue, then by priority. */
  lists: readonly ListWindow[];
  readonly taken: TakenMirror;
  /** Why something could not be read in the last look: a right that is missing, or a key that holds no list. */
  refusal: ServerProblem | null;
  revision: number;
  reading: QueueReading;
}

/** Sends nothing before the first reading. @param given names of queues that the host gives */
export function createRedisQueueReader(
  reader: RedisReader,
  settings: CelerySettings,
  given: readonly string[],
): QueueReader {
  const keys = queueKeys(settings);
  const state: ReaderState = {
    reader,
    keys,
    names: createQueueNames(reader, keys, settings, given),
    budget: createReadBudget(),
    lists: [],
    taken: newTakenMirror(),
    refusal: null,
    revision: 0,
    reading: NOTHING_READ,
  };
  return { listsMessages: true, read: (known, take, now) => read(state, known, take, now) };
}

async function read(
  state: ReaderState,
  known: readonly string[],
  take: TakeMessage,
  now: number,
): Promise<QueueReading> {
  const before = state.reading;
  let problem: ServerProblem | null = null;
  try {
    await state.names.step(known, now).catch((error: unknown) => {
      problem = describeError(error);
    });
    const isListed = updateLists(state, known);
    const isCounted = await lookAtEnds(state, now);
    const isRead = await readMessages(state, take, now);
    if (isListed || isCounted || isRead || !before.ok) state.revision += 1;
    state.reading = readingOf(state, known, problem);
  } catch (error) {
    state.reading = { ...before, ok: false, problem: describeError(error) };
  }
  return state.reading;
}

/** @returns whether there are other lists now */
function updateLists(state: ReaderState, known: readonly string[]): boolean {
  const { names, keys, lists } = state;
  const byKey = new Map(lists.map((list) => [list.key, list]));
  const next = names.list(known).flatMap((queue) =>
    keys.steps.map((priority, step) => {
      const key = keys.list(queue, priority);
      return byKey.get(key) ?? newListWindow(key, queue, step);
    }),
  );
  const isSame = next.length === lists.length && next.every((list, index) => list === lists[index]);
  state.lists = next;
  return !isSame;
}

/** Requests the lengths and the ends of all lists at once. @returns whether a length has changed */
async function lookAtEnds(state: ReaderState, now: number): Promise<boolean> {
  const { reader, keys, lists, taken, budget } = state;
  const questions = lists.map((list) => questionsFor(list, now));
  const commands = [
    ['ZCARD', keys.takenIndex],
    ['ZREVRANGE', keys.takenIndex, '0', '0', 'WITHSCORES'],
    ...questions.flat(),
  ];
  const all: Outcome[] = [];
  for (let from = 0; from < commands.length; from += COMMANDS_AT_ONCE) {
    all.push(...(await reader.outcomes(commands.slice(from, from + COMMANDS_AT_ONCE))));
  }
  const [size, newest, ...outcomes] = all;
  const count = asCount(replyOf(size));
  let isChanged = taken.count !== count;
  taken.count = count;
  taken.isRefused = isRefused(size);
  taken.newest = asTexts(replyOf(newest)).join(' ');
  state.refusal = [size, ...outcomes].find(isRefused)?.problem ?? null;
  let foreign: ListWindow | null = null;
  let at = 0;
  for (const [index, list] of lists.entries()) {
    const asked = questions[index]?.length ?? 0;
    if (outcomes[at]?.problem?.code === 'WRONGTYPE') foreign = list;
    isChanged = noteEnds(list, outcomes.slice(at, at + asked), budget, now) || isChanged;
    at += asked;
  }
  if (foreign !== null) state.refusal ??= noList(foreign);
  return isChanged;
}

/** Kombu's queues are lists. Other transports that speak the protocol of Redis may keep them otherwise. */
function noList({ queue }: ListWindow): ServerProblem {
  const { problem } = redisError('WRONGTYPE');
  return { ...problem, sentence: `The key of the queue ${shown(queue)} holds no list.` };
}

/** `null` for a key of another type, and for what the Redis user may not read. */
function replyOf(outcome: Outcome | undefined): unknown {
  const { reply = null, problem = null } = outcome ?? {};
  if (problem !== null && problem.code !== 'WRONGTYPE' && problem.code !== 'NOPERM')
    throw new RedisError(problem);
  return reply;
}

function isRefused(outcome: Outcome | undefined): boolean {
  return outcome?.problem?.code === 'NOPERM';
}

/** The ends of an empty list are not requested, nor those of large messages in every look. */
function questionsFor({ key, length, lookAt }: ListWindow, now: number): string[][] {
  const size = ['LLEN', key];
  if (length === 0 || now < lookAt) return [size];
  return [size, ['LRANGE', key, '0', '0'], ['LRANGE', key, '-1', '-1']];
}

/** @returns whether the length has changed */
function noteEnds(list: ListWindow, ends: readonly Outcome[], budget: ReadBudget, now: number): boolean {
  const [size, left, right] = ends;
  const before = list.length;
  list.length = asCount(replyOf(size));
  list.isRefused = isRefused(size);
  list.front = asTexts(replyOf(right))[0] ?? null;
  list.back = asTexts(replyOf(left))[0] ?? null;
  const cost = (list.front?.length ?? 0) + (list.back?.length ?? 0);
  if (cost > 0) list.lookAt = now + budget.pauseAfter(cost);
  return list.length !== before;
}

/** @returns whether other messages are known now */
async function readMessages(state: ReaderState, take: TakeMessage, now: number): Promise<boolean> {
  const { reader, keys, lists, taken, names, budget } = state;
  const filled = lists.filter(({ length }) => length > 0);
  const total = filled.reduce((sum, { length }) => sum + length, 0);
  const share = Math.ceil(MOST_MESSAGES / Math.max(1, filled.length));
  const limit = total <= MOST_MESSAGES ? MOST_NEXT : Math.min(MOST_NEXT, share);
  budget.begin(heldBytes(state), now);
  let isChanged = false;
  for (const list of lists) {
    isChanged = (await readList(list, { reader, take, budget, now }, limit)) || isChanged;
  }
  const reading = { reader, keys, findQueue: names.find, take, budget, now };
  return (await syncTaken(taken, reading, MOST_MESSAGES)) || isChanged;
}

function heldBytes({ lists, taken }: ReaderState): number {
  let bytes = 0;
  for (const list of lists) for (const message of messagesOf(list)) bytes += message.bytes;
  for (const message of taken.messages.values()) bytes += message.bytes;
  return bytes;
}

function readingOf(
  state: ReaderState,
  known: readonly string[],
  problem: ServerProblem | null,
): QueueReading {
  const { lists, taken, revision, refusal } = state;
  const isUnchanged = revision === state.reading.revision;
  const messages = isUnchanged
    ? state.reading.messages
    : [...taken.messages.values(), ...lists.flatMap(messagesOf)];
  return {
    queues: isUnchanged ? state.reading.queues : countsOf(state, known),
    messages,
    isComplete: isTakenWhole(taken) && lists.every(isWhole),
    ok: true,
    problem: problem ?? refusal,
    revision,
  };
}

/** By name. A queue that only the default names is left out while it is empty. */
function countsOf({ lists, taken, names }: ReaderState, known: readonly string[]): QueueCounts[] {
  const reserved = reservedByQueue(taken);
  const waiting = new Map<string, number | null>();
  for (const { queue, length, isRefused } of lists) {
    const sum = waiting.get(queue) ?? (waiting.has(queue) ? null : 0);
    waiting.set(queue, sum === null || isRefused ? null : sum + length);
  }
  for (const queue of reserved?.keys() ?? []) if (!waiting.has(queue)) waiting.set(queue, 0);
  const declared = names.declared(known);
  return [...waiting]
    .map(([name, messages]) => ({
      name,
      waiting: messages,
      reserved: reserved === null ? null : (reserved.get(name) ?? 0),
      consumers: null,
    }))
    .filter((queue) => queue.waiting !== 0 || (queue.reserved ?? 0) > 0 || declared.has(queue.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** @returns `null` if messages are missing, or the queue of one of them is not known */
function reservedByQueue(taken: TakenMirror): Map<string, number> | null {
  if (!isTakenWhole(taken)) return null;
  const counts = new Map<string, number>();
  for (const { facts } of taken.messages.values() as Iterable<WaitingMessage>) {
    if (facts === null) continue;
    if (facts.queue == null) return null;
    counts.set(facts.queue, (counts.get(facts.queue) ?? 0) + 1);
  }
  return counts;
}
