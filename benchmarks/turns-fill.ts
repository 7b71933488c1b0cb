/** The data of the benchmark `turns`: as large as a store allows. */
import { emptyRecord } from '../src/history/merge/record-fields.ts';
import type { StoredRollup } from '../src/history/rollup-store.ts';
import type { StoredTask, StoreSession } from '../src/history/store.ts';
import { writeRecordText } from '../src/history/stored/record-text.ts';
import { writeTimes } from '../src/history/stored/rollups/rollup-cells.ts';

export const SOURCE = 'bench';
/** Tasks of the workflow: those of the largest graph. */
export const TASKS = 20_000;
/** Names that were counted, and days. */
const NAMES = 10_000;
const DAYS = 9;
const DAY_MS = 86_400_000;
/** Tasks or cells of one call of the store. */
const BATCH = 250;
/** Three texts of a task are in its record: at most 2,048 characters each. */
const TEXT = `('${'some text, '.repeat(185)}',)`;
const FEED_ITEMS = 20_000;
const FEED_CHUNK = 1_000;
const WORKERS = 2_000;

export function taskId(at: number): string {
  return `${String(at).padStart(8, '0')}-6f0e-4e6c-9c1d-2b7a4f0e8d11`;
}

export async function fillTurns({ tasks, rollups, feed, snapshots }: StoreSession): Promise<void> {
  const now = Date.now();
  for (let at = 0; at < TASKS; at += BATCH) {
    await tasks.write(Array.from({ length: BATCH }, (_, next) => taskAt(at + next, now - 3_600_000)));
  }
  const today = Math.floor(now / DAY_MS);
  for (let day = today - DAYS; day < today; day++) {
    for (let at = 0; at < NAMES; at += BATCH) {
      await rollups.write(Array.from({ length: BATCH }, (_, next) => cellOf(at + next, day * DAY_MS)));
    }
  }
  for (let at = 0; at < FEED_ITEMS; at += FEED_CHUNK) {
    const items = Array.from({ length: FEED_CHUNK }, (_, next) => feedRow(at + next, now - FEED_ITEMS));
    await feed.append('earlier', JSON.stringify(items), FEED_CHUNK);
  }
  await snapshots.write(new Map([['workers', JSON.stringify(workersAt(now))]]));
}

function taskAt(at: number, time: number): StoredTask {
  const id = taskId(at);
  const rootId = taskId(0);
  const parentId = at === 0 ? null : taskId(Math.floor((at - 1) / 3));
  const [name, worker, timestamp] = [`shop.step_${at % 7}`, `celery@worker-${at % 20}`, time + at];
  const record = emptyRecord(id);
  const texts = { args: `${at} ${TEXT}`, kwargs: TEXT, result: TEXT };
  Object.assign(record, { name, parentId, rootId, ...texts });
  for (const kind of ['received', 'started', 'succeeded'] as const) {
    record.entries.push({
      ...{ kind, state: null, origin: 'event', time: timestamp, timeSource: 'sender', isStored: false },
      ...{ retries: 0, isCounted: true, worker, detail: null },
    });
  }
  return {
    ...{ id, day: Math.floor(time / DAY_MS), version: 1, isOpen: false, state: 'SUCCESS', name, worker },
    ...{ queue: 'shop', rootId, parentId, groupId: null, chordId: null, timestamp, received: timestamp },
    ...{ started: timestamp, finished: timestamp, runtime: 1, cause: null, ...writeRecordText(record, null) },
  };
}

function cellOf(at: number, start: number): StoredRollup {
  const times = writeTimes(Array.from({ length: 112 }, (_, bucket) => (bucket % 56 === 20 ? 5 : 0)));
  return {
    ...{ span: 86_400, level: 1, start, name: `shop.step_${at}`, queue: '', worker: '', writer: '' },
    ...{ weight: 5, counts: [5, 5, 5, 5, 0, 0, 0, 0, 60], times },
  };
}

function feedRow(at: number, time: number): unknown[] {
  return [at, time + at, 'task-received', time + at, 'shop.step_1', taskId(at), null, 'celery@worker-1'];
}

function workersAt(now: number): unknown[] {
  return Array.from({ length: WORKERS }, (_, at) => ({
    ...{ hostname: `celery@worker-${at}`, heardAt: now, isHeard: true, heartbeatAt: now, intervalMs: 2_000 },
    ...{ clockAheadMs: 0, bornAt: now - 60_000, saidGoodbye: false, facts: { pid: at, sw_ver: '5.2.6' } },
  }));
}
