/** Reports results soon after they were written, by polling. */
import { type ConnectionState, NOT_CONNECTED } from '../../../../kept-connection.ts';
import { pause } from '../../../../waiting.ts';
import { type Problem, problemOf } from '../../hint.ts';
import { createMessageQueue, type MessageQueue } from '../../message-queue.ts';
import type { PublishedHandlers, PublishedResults } from '../../result-backend.ts';
import type { SqlReader } from '../../sql/sql-reader.ts';
import {
  type FoundTables,
  type GroupTable,
  lastKey,
  type RowHead,
  type RowValues,
  readGroups,
  type TableFinder,
} from './result-rows.ts';
import { firstPositions, pendingRows, pollRows, type RowPositions } from './row-poll.ts';

/** Between two polls, and after a failure, in milliseconds. */
const POLL_MS = 1_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;
/** Polls between two that look for new groups. */
const GROUPS_EVERY = 3;
/** Rows whose values are read and handed over before the next ones. */
const AT_ONCE = 1_000;
/** How often the values of a row are requested while other statements succeed. */
const MOST_FAILURES = 3;
/** No more rows are searched while this many wait to be handed over. */
const MOST_PENDING = 20_000;

/** A result or a group, as Celery's own JSON. */
interface ReadText {
  readonly kind: 'task' | 'group';
  /** Of the task or the group. */
  readonly id: string;
  readonly text: string;
}

interface State {
  readonly reader: SqlReader;
  readonly finder: TableFinder;
  readonly pollMs: number;
  readonly closing: AbortController;
  readonly handlers: PublishedHandlers;
  readonly messages: MessageQueue<ReadText>;
  connection: ConnectionState<Problem>;
  /** `null` before the tables were found. */
  positions: RowPositions | null;
  /** Whether there were no tables before, so that none of their rows has been read. */
  isMissing: boolean;
  readonly lastGroups: Record<GroupTable, number>;
  polls: number;
  /** Failures in a row to read the values of pending rows. */
  failedReads: number;
}

/** @param pollMs between two polls, in milliseconds */
export function createPublishedResults(
  reader: SqlReader,
  finder: TableFinder,
  pollMs: number = POLL_MS,
): PublishedResults & { skew(): number; close(): void } {
  const closing = new AbortController();
  let state: State | null = null;
  return {
    channels: [],
    start(handlers) {
      if (state !== null) return;
      state = {
        reader,
        finder,
        pollMs,
        closing,
        handlers,
        messages: queueFor(handlers),
        connection: NOT_CONNECTED,
        positions: null,
        isMissing: false,
        lastGroups: { groups: 0, chords: 0 },
        polls: 0,
        failedReads: 0,
      };
      void run(state);
    },
    state: () => state?.connection ?? NOT_CONNECTED,
    skew: () => state?.positions?.skew ?? 0,
    close() {
      closing.abort();
      state?.messages.close();
    },
  };
}

function queueFor(handlers: PublishedHandlers): State['messages'] {
  return createMessageQueue<ReadText>({
    kind: 'results',
    sizeOf: ({ text }) => text.length,
    take({ kind, id, text }) {
      handlers[kind](text, id);
      return null;
    },
    lost: handlers.lost,
  });
}

async function run(state: State): Promise<void> {
  const { signal } = state.closing;
  let failures = 0;
  while (!signal.aborted) {
    let rest = state.pollMs;
    try {
      const startedAt = Date.now();
      const isBehind = await poll(state);
      if (isBehind) rest = 1;
      failures = 0;
      isUp(state, startedAt);
    } catch (error) {
      if (signal.aborted) return;
      state.finder.failed(error);
      const since = null;
      state.connection = { ...state.connection, up: false, since, problem: problemOf(error) };
      rest = Math.min(FIRST_RETRY_MS * 2 ** failures, LAST_RETRY_MS);
      failures += 1;
    }
    await pause(rest, signal);
  }
}

/** Rows stay in their tables, so that nothing is missed while they cannot be read. */
function isUp(state: State, asOf: number): void {
  const before = state.connection;
  const isFirst = before.asOf === null;
  const reconnects = before.reconnects + (before.up || isFirst ? 0 : 1);
  state.connection = { up: true, asOf, since: before.since ?? asOf, reconnects, problem: null };
  if (isFirst) state.handlers.up(false);
}

/** @returns whether there is more to read */
async function poll(state: State): Promise<boolean> {
  const { reader, finder, closing } = state;
  const { signal } = closing;
  const found = await finder.find(signal);
  if (found === null) {
    // There may be tables later on; until then, there are no results.
    state.isMissing = true;
    await reader.select({ text: 'SELECT 1 AS one', limit: 1 }, signal);
    return false;
  }
  const parts = { reader, tables: found.tables, signal };
  if (state.positions === null) {
    for (const kind of ['groups', 'chords'] as const) {
      const table = found.tables[kind];
      state.lastGroups[kind] = table === null ? 0 : await lastKey(reader, table, signal);
    }
    state.positions = await firstPositions(parts);
    if (state.isMissing) state.handlers.up(true);
    return false;
  }
  const { positions } = state;
  const isFull = positions.pending.size >= MOST_PENDING;
  const isBehind = !isFull && (await pollRows(parts, positions, state.polls));
  await handOver(state, found, positions);
  if (state.polls % GROUPS_EVERY === 0) await pollGroups(state, found);
  state.polls += 1;
  return isBehind;
}

/** Rows stay pending until their values were read. After a failure, they are read one by one. */
async function handOver(state: State, { values }: FoundTables, positions: RowPositions): Promise<void> {
  const { closing, handlers } = state;
  const { pending } = positions;
  const heads = pendingRows(positions);
  const atOnce = state.failedReads === 0 ? AT_ONCE : 1;
  for (let at = 0; at < heads.length; at += atOnce) {
    const part = heads.slice(at, at + atOnce);
    try {
      await handOverPart(state, values, part, pending);
    } catch (error) {
      state.failedReads += 1;
      // One row that cannot be read must not hold up the others.
      if (atOnce > 1 || state.failedReads <= MOST_FAILURES || closing.signal.aborted) throw error;
      for (const { key } of part) pending.delete(key);
      state.failedReads = 1;
      handlers.lost();
    }
  }
  state.failedReads = 0;
}

async function handOverPart(
  { messages, closing }: State,
  values: RowValues,
  heads: readonly RowHead[],
  pending: Map<number, RowHead>,
): Promise<void> {
  const keys = new Map(heads.map(({ id, key }) => [id, key]));
  for await (const rows of values.read([...keys.keys()], closing.signal)) {
    for (const row of rows) {
      messages.push({ kind: 'task', ...row });
      pending.delete(keys.get(row.id) ?? 0);
    }
  }
  // The remaining rows were removed meanwhile.
  for (const { key } of heads) pending.delete(key);
}

async function pollGroups(state: State, { tables }: FoundTables): Promise<void> {
  const { reader } = state;
  const { signal } = state.closing;
  for (const kind of ['groups', 'chords'] as const) {
    const range = { after: state.lastGroups[kind] };
    for (const { key, id, text } of await readGroups(reader, tables, kind, range, signal)) {
      state.lastGroups[kind] = key;
      if (text !== null) state.messages.push({ kind: 'group', id, text });
    }
  }
}
