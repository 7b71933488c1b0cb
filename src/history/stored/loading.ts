/** Loads stored data into memory: at the start, and after times in which this instance received nothing. */
import type { TaskRelation } from '../../model.ts';
import { runInSlices, type Steps, scheduler } from '../../scheduler.ts';
import { ALL_TASKS } from '../../source/task-query.ts';
import { isTime } from '../../values.ts';
import type { HeardItem } from '../feed/feed-ring.ts';
import {
  type FeedChunk,
  type StoredQuery,
  type StoredRecord,
  type StoreSession,
  WHOLE_AT_ONCE,
} from '../store.ts';
import { FIRST_READ, nextReadSize } from './read/stored-tasks.ts';
import { storeQuery } from './read/task-pages.ts';
import { readKeptTask } from './record-text.ts';
import { noteChanged, type StoredState, stepsOf, TEXT } from './stored-state.ts';
import { readFeedText, readSpans, readWorkersText, unionOf } from './texts.ts';

/** Bounds of one page of tasks: fewer pages fill memory sooner. */
const PAGE = { most: 2_000, characters: 1_000_000 };
/** Relations that are loaded between two pauses. */
const RELATIONS_AT_ONCE = 64;
/** Most relations of the tasks of one page. */
const MOST_RELATIONS = 20_000;

const ALL = storeQuery({ ...ALL_TASKS, limit: FIRST_READ });

/**
 * Loads workers, coverage and the feed, then all open tasks and the newest others, as many as fit into memory. Changes
 * by live messages are merged.
 */
export async function loadStored(state: StoredState, session: StoreSession): Promise<void> {
  await state.texts.refresh(session.snapshots);
  takeInTexts(state);
  await loadFeed(state, session);
  if (state.hearing === 'nothing') return;
  await loadTasks(state, session, { ...ALL, isOpen: true });
  state.unreadable = 0;
  await loadTasks(state, session, ALL);
}

/** Loads workers, and the time that others have covered. */
export function takeInTexts(state: StoredState): void {
  const { texts, access, clock, hostnames } = state;
  const ahead = clock.ahead();
  const own = hostnames.size;
  const workers = readWorkersText(texts.read(TEXT.workers) ?? '', ahead);
  for (const worker of workers) {
    hostnames.add(worker.hostname);
    access.absorbWorker(worker);
  }
  // Two instances wrote at the same time, and the other one did not know all of ours.
  if (state.hearing === 'part' && own > 0 && hostnames.size > workers.length) state.areWorkersChanged = true;
  const spans = readSpans(texts.read(TEXT.coverage));
  state.spans = unionOf([...state.spans, ...spans]);
  state.areTextsKnown = true;
  if (state.hearing === 'part') return;
  for (const [from, to] of spans) access.absorbCoverage(from - ahead, to - ahead);
}

async function loadFeed(state: StoredState, session: StoreSession): Promise<void> {
  const chunks = await state.calls.ask('load', () => session.feed.newest(state.maxEvents));
  await takeInChunks(state, chunks);
}

/** Adds items that other instances and earlier processes have received to the feed. */
export async function takeInChunks(state: StoredState, chunks: readonly FeedChunk[]): Promise<void> {
  const { feed, access } = state;
  for (const { number } of chunks) feed.readThrough = Math.max(feed.readThrough, number);
  const others = chunks.filter(({ instance }) => instance !== access.instance);
  const heard = await runInSlices('load', itemsOf(others));
  await runInSlices('load', access.absorbEvents(heard));
}

/** The items of chunks, by the instance that received them. */
function* itemsOf(chunks: readonly FeedChunk[]): Steps<Map<string, HeardItem[]>> {
  const heard = new Map<string, HeardItem[]>();
  for (const { instance, items } of chunks) {
    const known = heard.get(instance) ?? [];
    known.push(...readFeedText(items));
    heard.set(instance, known);
    yield;
  }
  return heard;
}

/** Reads the pages of a list until it ends or memory is full. The next page is read while one is absorbed. */
async function loadTasks(state: StoredState, session: StoreSession, query: StoredQuery): Promise<void> {
  const { calls } = state;
  const read = (after: StoredQuery['after'], limit: number): Promise<readonly StoredRecord[]> =>
    ahead(calls.ask('load', () => session.tasks.records({ ...query, after, limit })));
  let size = query.limit;
  let next: Promise<readonly StoredRecord[]> | null = read(null, size);
  while (next !== null && !state.isClosed && state.session === session) {
    const page: readonly StoredRecord[] = await next;
    const last = page.length < size ? undefined : page.at(-1);
    size = nextReadSize(page, PAGE);
    next = last === undefined ? null : read({ key: last.timestamp, id: last.id }, size);
    const relations = ahead(readRelations(state, session, page));
    // The last one first: the sorted sequences of memory then grow at their end, not in the middle.
    const cut = await scheduler.run('load', takeIn(state, page.toReversed(), false));
    await loadWhole(state, session, cut.ids);
    await scheduler.run('load', takeInRelations(state, await relations));
    if (cut.refused > page.length / 2) return;
  }
}

/** Loads tasks with their long texts, a few at a time. */
async function loadWhole(state: StoredState, session: StoreSession, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += WHOLE_AT_ONCE) {
    const batch = ids.slice(at, at + WHOLE_AT_ONCE);
    const whole = await state.calls.ask('load', () => session.tasks.read(batch));
    await scheduler.run('load', takeIn(state, whole, true));
  }
}

async function readRelations(
  { calls }: StoredState,
  session: StoreSession,
  page: readonly StoredRecord[],
): Promise<readonly TaskRelation[]> {
  if (page.length === 0) return [];
  // Most sources have none.
  if (await calls.ask('load', () => session.relations.isEmpty())) return [];
  const ids = page.map(({ id }) => id);
  return calls.ask('load', () => session.relations.read(ids, MOST_RELATIONS));
}

function* takeInRelations({ access }: StoredState, relations: readonly TaskRelation[]): Steps<void> {
  for (const [at, relation] of relations.entries()) {
    access.absorbRelation(relation);
    if (at % RELATIONS_AT_ONCE === RELATIONS_AT_ONCE - 1) yield;
  }
}

/** A read that may fail before it is awaited. */
function ahead<Result>(read: Promise<Result>): Promise<Result> {
  read.catch(() => {});
  return read;
}

/** The result of a page. */
interface TakenIn {
  /** Tasks with texts of which the list has the beginning only. */
  readonly ids: string[];
  refused: number;
}

/** @param isWhole whether the long texts of the tasks were read, too */
function* takeIn(state: StoredState, tasks: readonly StoredRecord[], isWhole: boolean): Steps<TakenIn> {
  const { access, clock } = state;
  const result: TakenIn = { ids: [], refused: 0 };
  const pauses = createPauses();
  for (const task of tasks) {
    const { id, timestamp } = task;
    const kept = readKeptTask(task);
    if (kept === null) {
      state.unreadable++;
      continue;
    }
    if (!isWhole && kept.shortened.length > 0) result.ids.push(id);
    else {
      const heardAt = isTime(timestamp) ? timestamp : clock.now() - clock.ahead();
      // One that is being written, and was told nothing since, is whole.
      const steps = state.tasks.steps.has(id) ? stepsOf(state.tasks, id) : undefined;
      const outcome = access.absorbTask(kept, heardAt, steps);
      if (outcome === 'refused') result.refused++;
      // Memory knew more than the store.
      if (outcome === 'merged') noteChanged(state.tasks, id, clock.elapsed());
    }
    if (pauses.isDue()) {
      yield;
      pauses.begin();
    }
  }
  return result;
}

/** Longest work between two pauses, in milliseconds. */
const STEP_MS = 1;

/** Says when work should pause. */
interface Pauses {
  isDue(): boolean;
  begin(): void;
}

/** @returns pauses after each millisecond of work */
export function createPauses(): Pauses {
  let until = performance.now() + STEP_MS;
  return {
    isDue: () => performance.now() >= until,
    begin: () => (until = performance.now() + STEP_MS),
  };
}
