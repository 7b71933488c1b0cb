/** The history in which jobs are recorded, and the recorder. */

import { debugChannel } from '../../../debug.ts';
import type { StoreEngine } from '../../../history/store.ts';
import { createStoredHistory } from '../../../history/stored/create-stored-history.ts';
import type { StoredHistory } from '../../../history/stored-history.ts';
import { createLruCache, type LruCache } from '../../../lru-cache.ts';
import { addressOf } from '../../../redis/client.ts';
import { hostClient } from '../../../redis/host-client.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { isRecord } from '../../../values.ts';
import { pause, signalWithin } from '../../../waiting.ts';
import type { ResolvedOptions } from '../access/options.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { depthsInterval, recordDepths } from '../components/oldest-due.ts';
import { addedAtOf, changesOf, type FollowedJob } from './followed-job.ts';
import { createRecordedLives, type RecordedEnd, type RecordedLives } from './recorded-lives.ts';
import {
  type BatchSizes,
  readPositions,
  readStreams,
  type StreamNews,
  type StreamPositions,
  writePositions,
} from './stream-news.ts';
import {
  type EndedJob,
  entriesOfJobs,
  mentionedJobs,
  readMentioned,
  STEP,
  takeEntries,
} from './take-entries.ts';

/** Recorded jobs. */
export interface JobStore extends Pick<StoredHistory, 'reader' | 'readStats' | 'status' | 'openNotes'> {
  /** Ends recording, and writes what has been recorded. */
  close(): Promise<void>;
}

/** Jobs that are held in memory; others are read from the store. */
const MEMORY = { maxTasks: 20_000, maxBytes: 64 * 1024 * 1024 };

/** Opens the store, and records from then on, while this instance holds the lease, unless it never collects. */
export function createJobStore(options: ResolvedOptions, store: StoreEngine, access: QueueAccess): JobStore {
  const { name, redactor, collect } = options;
  const history = createStoredHistory(
    { ...MEMORY, redactor },
    {
      store,
      source: name,
      deployment: deploymentOf(options),
      hearing: 'part',
      isReadOnly: !collect,
    },
  );
  const recorder = collect ? createJobRecorder(access, history) : null;
  return {
    reader: history.reader,
    readStats: history.readStats,
    status: history.status,
    openNotes: history.openNotes,
    async close() {
      await recorder?.close();
      await history.close();
    },
  };
}

/**
 * Identifies the queues in a store that may keep several deployments: server, database and prefix.
 *
 * @returns `null` if a client of the host does not reveal its address
 */
function deploymentOf({ from }: Pick<ResolvedOptions, 'from'>): string | null {
  if (from.kind !== 'queues')
    return joined([from.kind === 'client' ? from.client : from.address], [from.prefix]);
  return joined(
    from.queues.map(({ connection }) => connection),
    from.queues.map(({ prefix }) => prefix),
  );
}

function joined(connections: readonly unknown[], prefixes: readonly string[]): string | null {
  const servers = connections.map(serverOf);
  if (servers.includes(null)) return null;
  return [...new Set(servers), ...new Set(prefixes)].toSorted().join(' ');
}

/** Host, port and database, without user and password. */
function serverOf(connection: unknown): string | null {
  const url = urlOf(connection);
  if (url === null || !URL.canParse(url)) return null;
  const { hostname, port, pathname } = new URL(url);
  const host = hostname.replace(/^(?:127\.0\.0\.1|\[::1\])$/, 'localhost');
  return `${host}:${port || 6_379}${pathname === '' || pathname === '/' ? '/0' : pathname}`;
}

function urlOf(connection: unknown): string | null {
  if (typeof connection === 'string') return connection;
  const client = hostClient(connection);
  if (client !== null) return client.address();
  return isRecord(connection) ? addressOf(connection) : null;
}

/** A running recorder. */
interface JobRecorder {
  /** Ends it. Jobs that are being read are not recorded. */
  close(): Promise<void>;
}

/** The text that keeps the positions. */
const POSITIONS = 'bullmq-streams';

/** How long to wait between two reads of the streams, in milliseconds. */
interface RecorderPace {
  /** After one that found something. */
  readonly busyMs: number;
  readonly idleMs: number;
}

const PACE: RecorderPace = { busyMs: 250, idleMs: 1_000 };
const READ_MS = 4_000;
/** A change is among those that wait to be written after this time at the latest, in milliseconds. */
const SETTLED_MS = 1_500;
/** Jobs that have not ended of which readings are kept, and the characters of all of them. */
const MOST_JOBS = 10_000;
const MOST_SIZE = 16_777_216;
const JOB_SIZE = 500;

interface RecorderState {
  readonly access: QueueAccess;
  readonly history: StoredHistory;
  readonly lives: RecordedLives;
  readonly jobs: LruCache<FollowedJob>;
  readonly sizes: BatchSizes;
  readonly closing: AbortController;
  /** `null`: this instance does not record. */
  positions: StreamPositions | null;
  /** Positions that are published once everything before them has been written. */
  unsaved: { readonly at: number; readonly text: string } | null;
  saved: string | null;
  /** When the depths of the queues are to be read, by the clock of the process. */
  depthsDueAt: number;
}

/** @param pace for tests */
function createJobRecorder(
  access: QueueAccess,
  history: StoredHistory,
  pace: RecorderPace = PACE,
): JobRecorder {
  const state: RecorderState = {
    access,
    history,
    lives: createRecordedLives(history.reader),
    jobs: createLruCache({ entries: MOST_JOBS, bytes: MOST_SIZE, sizeOf }),
    sizes: new Map(),
    closing: new AbortController(),
    positions: null,
    unsaved: null,
    saved: null,
    depthsDueAt: Number.NEGATIVE_INFINITY,
  };
  const running = run(state, pace);
  return {
    async close() {
      state.closing.abort();
      await running;
      if (state.positions !== null) history.texts.publish(POSITIONS, writePositions(state.positions));
    },
  };
}

function sizeOf({ reading }: FollowedJob): number {
  const texts = Object.values(reading?.values ?? {});
  return JOB_SIZE + texts.reduce((sum, { text }) => sum + 2 * text.length, 0);
}

const debug = debugChannel('bullmq');

async function run(state: RecorderState, pace: RecorderPace): Promise<void> {
  const { history, closing } = state;
  while (!closing.signal.aborted) {
    let wait = pace.idleMs;
    try {
      if (!history.isHolder() || history.status().phase !== 'ready') leave(state);
      else wait = waitAfter(await record(state), pace);
    } catch (error) {
      debug('jobs cannot be recorded: %s', error instanceof Error ? error.message : 'unknown');
    }
    await pause(wait, closing.signal);
  }
}

/** Another instance records, or will. */
function leave(state: RecorderState): void {
  if (state.positions === null) return;
  state.positions = null;
  state.unsaved = null;
  state.saved = null;
}

function waitAfter(news: readonly StreamNews[], { busyMs, idleMs }: RecorderPace): number {
  if (news.some(({ hasMore }) => hasMore)) return 0;
  return news.length > 0 ? busyMs : idleMs;
}

/** Reads the streams once, and records the jobs that have ended. @returns the new entries */
async function record(state: RecorderState): Promise<readonly StreamNews[]> {
  const { access, history, sizes } = state;
  const { signal } = state.closing;
  const options = { timeoutMs: READ_MS, signal };
  const positions = state.positions ?? readPositions(history.texts.read(POSITIONS));
  const queues = await access.queues(options);
  const news = await readStreams(access, queues, positions, sizes, options);
  const entries = news.flatMap(entriesOfJobs);
  const mentioned = mentionedJobs(state.jobs, entries);
  const readings = await readMentioned(access, [...mentioned.values()], options);
  const ended = await scheduler.run('record', takeEntries(state.jobs, entries, readings));
  const context = { signal: signalWithin(READ_MS, signal) };
  const ends = await state.lives.find(
    ended.map(({ taskId, job, end }) => ({
      taskId,
      endedAt: end.time,
      addedAt: addedAtOf(job),
    })),
    context,
  );
  await scheduler.run('record', recordEnded(history, ended, ends));
  if (news.some(({ hasGap }) => hasGap)) history.writer.recordGap();
  for (const { queue, entries: own } of news) positions.set(queue.name, own.at(-1)?.id ?? '');
  state.positions = positions;
  save(state, positions);
  if (performance.now() >= state.depthsDueAt) {
    state.depthsDueAt = performance.now() + depthsInterval(queues.length);
    await recordDepths(access, history.writer, queues, options);
  }
  return news;
}

function* recordEnded(
  { writer }: StoredHistory,
  ended: readonly EndedJob[],
  ends: readonly RecordedEnd[],
): Steps<void> {
  for (const [index, { queue, taskId, job, end, isRead }] of ended.entries()) {
    if (index % STEP === STEP - 1) yield;
    const { id, isKnown } = ends[index] ?? { id: taskId, isKnown: false };
    // It has been counted, too.
    if (isKnown) continue;
    const target = { id, groupId: id === taskId ? null : taskId, queue };
    for (const change of changesOf(target, job, end, isRead)) writer.recordTask(change);
  }
}

/** A position is published when everything before it has been written, so that a killed process loses nothing. */
function save(state: RecorderState, positions: StreamPositions): void {
  const { history } = state;
  const now = Date.now();
  const { unsaved } = state;
  if (unsaved !== null && now > unsaved.at + SETTLED_MS) {
    const { waitingSince } = history.status();
    if (waitingSince === null || waitingSince > unsaved.at + SETTLED_MS) {
      history.texts.publish(POSITIONS, unsaved.text);
      state.saved = unsaved.text;
      state.unsaved = null;
    }
  }
  const text = writePositions(positions);
  if (state.unsaved === null && text !== state.saved) state.unsaved = { at: now, text };
}
