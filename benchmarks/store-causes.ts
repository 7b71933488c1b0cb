/** Failures by cause in the benchmark `store`: the reads of them, and the cost of writing causes. */
import type { StoredTask, StoreSession } from '../src/history/store.ts';
import { causesOfStore } from '../src/history/stored/read/stats-reader.ts';
import { statsWindow } from '../src/select/task-stats.ts';
import { CONTEXT, query } from '../test/history/telling.ts';
import { taskOf } from '../test/stores/samples.ts';
import { DAY_MS } from './store-fill.ts';

/** Causes, as many as a busy system has. */
export const CAUSES = 500;
/** Batches of tasks that are written in turn with and without causes. */
const BATCHES = 40;
const BATCH = 250;

/** CPU time of this process for each task, in microseconds, and milliseconds by the clock for 1,000. */
export interface CauseFigures {
  readonly cpuWith: number;
  readonly cpuWithout: number;
  readonly clockWith: number;
  readonly clockWithout: number;
}

/** Notes the causes. */
export async function fillCauses({ causes }: StoreSession): Promise<void> {
  const now = Date.now();
  await causes.note(
    Array.from({ length: CAUSES }, (_, at) => ({
      ...{ id: `cause-${at}`, exception: 'ValueError', message: `no ${at}`, frame: 'shop.py in pay' },
      ...{ firstSeen: now - 80 * DAY_MS, lastSeen: now },
    })),
  );
}

const WHOLE = { since: 0, oldest: 0 };

/** Causes of windows, as `stats_causes` reads them. */
export function causeReads(session: StoreSession): Readonly<Record<string, () => Promise<unknown>>> {
  const read = (days: number, causes: number) => () => {
    const asked = { minutes: days * 1_440, now: new Date(), causes, filter: query() };
    return causesOfStore(session, asked, statsWindow(asked, 3_600), WHOLE, CONTEXT);
  };
  return {
    '50 causes of 7 days': read(7, 50),
    '500 causes of 7 days': read(7, CAUSES),
  };
}

/** Writes failed tasks with and without a cause in turn, as the write-behind does. */
export async function timeCauses({ tasks, causes }: StoreSession): Promise<CauseFigures> {
  const spent = { with: { cpu: 0, clock: 0 }, without: { cpu: 0, clock: 0 } };
  for (let round = 0; round < BATCHES; round += 1) {
    for (const kind of round % 2 === 0 ? (['with', 'without'] as const) : (['without', 'with'] as const)) {
      const batch = Array.from({ length: BATCH }, (_, at) => failedTask(kind, round * BATCH + at));
      const [cpu, clock] = [process.cpuUsage(), performance.now()];
      await tasks.write(batch);
      if (kind === 'with') await causes.note(batch.slice(0, 20).map(noteOf));
      const { user, system } = process.cpuUsage(cpu);
      spent[kind].cpu += user + system;
      spent[kind].clock += performance.now() - clock;
    }
  }
  const all = BATCHES * BATCH;
  return {
    cpuWith: spent.with.cpu / all,
    cpuWithout: spent.without.cpu / all,
    clockWith: (spent.with.clock * 1_000) / all,
    clockWithout: (spent.without.clock * 1_000) / all,
  };
}

function failedTask(kind: 'with' | 'without', at: number): StoredTask {
  const cause = kind === 'with' ? `cause-${(at * 7) % CAUSES}` : null;
  return { ...taskOf(`failed-${kind}-${at}`, { timestamp: Date.now(), state: 'FAILURE' }), cause };
}

function noteOf({ cause, timestamp }: StoredTask) {
  const texts = { exception: 'ValueError', message: 'no', frame: 'shop.py in pay' };
  return { id: cause ?? '', ...texts, firstSeen: timestamp ?? 0, lastSeen: timestamp ?? 0 };
}
