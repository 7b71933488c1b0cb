/**
 * Writes the changes since the last time: tasks, relations, feed, workers and texts. The holder of the lease drops old
 * days, and keeps the feed short.
 */
import type { TaskRelation } from '../../model.ts';
import { runInSlices, type Steps, scheduler } from '../../scheduler.ts';
import type { StoreSession } from '../store.ts';
import type { StoreStatus } from '../stored-history.ts';
import type { StoredWorker } from '../workers/worker-record.ts';
import { takeInTexts } from './loading.ts';
import { areClocksApart, isHolder, mayWrite, type StoredState, TEXT } from './stored-state.ts';
import { dayAt, writeTasks } from './task-writer.ts';
import { type Span, unionOf, writeFeedText, writeSpans, writeWorkersText } from './texts.ts';

/** Most relations that wait, and most of one statement. */
const MOST_RELATIONS = 20_000;
const RELATIONS_AT_ONCE = 1_000;
/** Most items of one chunk of the feed. */
const ITEMS_AT_ONCE = 500;
/** Between two writes of the spans that were covered, in milliseconds. */
const COVERAGE_MS = 5_000;

/** Writes all changes until now, unless another instance does. */
export async function writeBehind(state: StoredState): Promise<void> {
  state.access.catchUp();
  // After the changes that were just collected, so that they are written, too.
  const through = state.clock.elapsed();
  const { session, clock, tasks } = state;
  if (session === null || !mayWrite(state)) return;
  for (;;) {
    const written = tasks.changed.size === 0 ? 0 : await writeTasks({ ...state, backlog: tasks }, session);
    if (written > 0) state.texts.publish(TEXT.tasks, `${state.instance} ${++state.batches}`);
    await writeRelations(state, session);
    await writeFeed(state, session);
    await writeTexts(state, session);
    const oldest = oldestWaiting(state);
    if (written <= 0 || oldest === null || oldest > through || !mayWrite(state)) break;
  }
  // This instance has stopped receiving: what it has written is read from the store.
  if (state.hearing === 'nothing' && tasks.changed.size === 0)
    await scheduler.run('store', state.access.forgetTasks());
  state.lastWrite = clock.now() - clock.ahead();
}

/** Since when the oldest unwritten change waits; `null`: all are written. */
function oldestWaiting({ tasks, relations, feed }: StoredState): number | null {
  const oldest = [
    tasks.changed.values().next().value,
    relations.waiting[0]?.since,
    feed.written < feed.heard ? feed.since : undefined,
  ].filter((since) => since !== undefined);
  return oldest.length === 0 ? null : Math.min(...oldest);
}

/** Adds a relation to those that wait. */
export function noteRelation({ relations, clock }: StoredState, relation: TaskRelation): void {
  if (relations.waiting.length >= MOST_RELATIONS) relations.lost++;
  else relations.waiting.push({ relation, since: clock.elapsed() });
}

async function writeRelations(
  { relations, calls }: StoredState,
  { relations: store }: StoreSession,
): Promise<void> {
  const { waiting } = relations;
  while (waiting.length > 0) {
    const batch = waiting.slice(0, RELATIONS_AT_ONCE);
    await calls.ask('write', () => store.write(batch.map(({ relation }) => relation)));
    waiting.splice(0, batch.length);
  }
}

async function writeFeed(state: StoredState, { feed: store }: StoreSession): Promise<void> {
  const { feed, access, calls, clock } = state;
  while (feed.written < feed.heard) {
    const began = clock.elapsed();
    const items = scheduler.measure(() => access.readEvents(feed.written, ITEMS_AT_ONCE));
    const [first, last] = [items[0], items.at(-1)];
    if (first === undefined || last === undefined) {
      feed.lost += feed.heard - feed.written;
      feed.written = feed.heard;
      return;
    }
    const text = await runInSlices('store', writeFeedText(items));
    await calls.ask('write', () => store.append(access.instance, text, items.length));
    // Items that memory has dropped meanwhile leave a gap between two chunks.
    feed.lost += first.number - feed.written - 1;
    feed.written = last.number;
    feed.since = began;
  }
}

async function writeTexts(state: StoredState, { snapshots }: StoreSession): Promise<void> {
  const { texts, clock } = state;
  // If several instances write workers, each replaces the text of the others, so it must have read it.
  const isReplacing = state.areWorkersChanged && state.hearing === 'part';
  if (!state.areTextsKnown || isReplacing) {
    await texts.refresh(snapshots);
    takeInTexts(state);
  }
  if (state.areWorkersChanged && state.hearing !== 'nothing') {
    state.areWorkersChanged = false;
    texts.publish(TEXT.workers, await runInSlices('store', workersText(state)));
  }
  const isCoverageDue = clock.elapsed() - state.coverageWrittenAt >= COVERAGE_MS;
  if (isCoverageDue && state.hearsSince !== null && isHolder(state)) {
    state.spans = unionOf([...state.spans, ...ownSpan(state)]);
    texts.publish(TEXT.coverage, writeSpans(state.spans));
    state.coverageWrittenAt = clock.elapsed();
  }
  await texts.write(snapshots);
}

/** The time in which this instance has received everything, up to now. */
function ownSpan({ hearsSince, clock }: StoredState): Span[] {
  return hearsSince === null ? [] : [[clock.databaseAt(hearsSince), clock.now()]];
}

function* workersText({ hostnames, access, clock }: StoredState): Steps<string> {
  const workers: StoredWorker[] = [];
  for (const hostname of hostnames) {
    const worker = access.readWorker(hostname);
    if (worker === null) hostnames.delete(hostname);
    else workers.push(worker);
  }
  yield;
  return writeWorkersText(workers, clock.ahead());
}

/** Between two clean-ups, in milliseconds. */
const CLEAN_MS = 60 * 60_000;
/** How many times the length of the feed is kept. */
const FEEDS = 2;

/** Longest clean-up, in milliseconds. */
const DEADLINE_MS = 120_000;

const DAY_MS = 24 * 60 * 60_000;

/** Records when more has been lost. */
export function noteLosses(state: StoredState): void {
  const lost = lostIn(state);
  if (lost === state.lostBefore) return;
  state.lostBefore = lost;
  state.lostAt = Math.round(state.clock.now() - state.clock.ahead());
}

/** Reads the size of the store, and cleans it up once an hour. */
export async function keepStore(state: StoredState): Promise<void> {
  const { session, clock, calls, options, maxEvents } = state;
  if (session === null) return;
  const now = clock.elapsed();
  const isKeeper = isHolder(state) && !state.isReadOnly;
  if (isKeeper && now - state.cleanedAt >= CLEAN_MS && !areClocksApart(state)) {
    const today = dayAt(clock);
    const day = today - options.store.retention.taskDays;
    await calls.ask('upkeep', () => session.tasks.dropBefore(day, today), DEADLINE_MS);
    const oldest = clock.now() - options.store.retention.rollupDays * DAY_MS;
    await calls.ask('upkeep', () => session.causes.dropBefore(oldest), DEADLINE_MS);
    await calls.ask('upkeep', () => session.feed.trim(FEEDS * maxEvents), DEADLINE_MS);
    state.cleanedAt = now;
  }
  state.bytes = await calls.ask('upkeep', () => session.size());
}

/** Tasks, relations and feed items that were dropped before they could be written. */
function lostIn({ tasks, relations, feed }: StoredState): number {
  return tasks.lost + relations.lost + feed.lost;
}

/** How the store of a history is doing. */
export function statusOf(state: StoredState): StoreStatus {
  const { options, session, lease, tasks, calls, clock } = state;
  const problem = calls.problem();
  const oldest = oldestWaiting(state);
  return {
    engine: options.store.engine,
    phase: session === null ? 'opening' : state.isLoading ? 'loading' : 'ready',
    isHolder: lease.isKnown || isHolder(state) ? isHolder(state) : null,
    waiting: tasks.changed.size,
    waitingSince: oldest === null ? null : Math.round(clock.databaseAt(oldest) - clock.ahead()),
    lastWrite: state.lastWrite,
    error: problem?.sentence ?? null,
    code: problem?.code ?? null,
    remedy: problem?.remedy ?? null,
    lost: lostIn(state),
    lostAt: state.lostAt,
    bytes: state.bytes,
    areClocksApart: areClocksApart(state),
    unreadable: state.unreadable,
  };
}
