/**
 * Asks the backend for tasks that have not ended and of which nothing has been heard for a while: final
 * events get lost, by worker pools of threads above all, and so do publications while nobody listens.
 */
import { createHash } from 'node:crypto';
import type { CollectedHistory, OpenTask } from '../../../../history/history.ts';
import type { ResultKeys } from './result-keys.ts';
import type { ReadResult, ResultTaker } from './result-taker.ts';
import type { ValueStore } from './value-store.ts';

/** All in milliseconds. */
const INTERVAL = 1_000;
/** A task is asked for when nothing was heard of it for so long, then each time its silence has doubled … */
const FIRST_SILENCE = 2_000;
/** … yet at least this often. */
const LONGEST_WAIT = 60_000;
/** Most tasks asked for at once. */
const BATCH = 500;
/** Most open tasks looked after, those not heard of for longest. */
const MOST_TASKS = 20_000;

/** Looks after the tasks that have not ended. */
export interface Reconciler {
  start(): void;
  /** Asks for all of them at once: something may have been missed. */
  askAll(): void;
}

/** What reconciling needs. */
export interface ReconcilerOptions {
  readonly history: CollectedHistory;
  readonly store: ValueStore;
  readonly keys: ResultKeys;
  readonly taker: ResultTaker;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** An open task, and when to ask for it. Milliseconds since 1970. */
interface Watched {
  /** When it was last heard of, as the history says. */
  readonly heardAt: number;
  dueAt: number;
  /** Digest of what was stored when it was last asked for. */
  told: string | null;
}

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { history, store, keys, taker, signal } = options;
  let watched = new Map<string, Watched>();
  let running = false;
  let allWanted = false;

  /** The next tasks to ask for, most likely to have ended first. */
  function dueTasks(all: boolean): string[] {
    const now = Date.now();
    const limit = all ? MOST_TASKS : Math.min(MOST_TASKS, watched.size + BATCH);
    const open = history.index.listOpen(limit);
    const before = watched;
    watched = new Map(open.map((task) => [task.id, watch(task, before.get(task.id))]));
    const due = open.filter(({ id }) => all || (watched.get(id) as Watched).dueAt <= now);
    const taken = due.filter(({ state }) => state !== 'PENDING');
    const waiting = due.filter(({ state }) => state === 'PENDING');
    return [...taken, ...waiting].map(({ id }) => id);
  }

  function watch({ heardAt }: OpenTask, known: Watched | undefined): Watched {
    if (known?.heardAt === heardAt) return known;
    return { heardAt, dueAt: heardAt + FIRST_SILENCE, told: known?.told ?? null };
  }

  async function askFor(ids: readonly string[]): Promise<void> {
    for await (const part of store.read(ids.map(keys.task), signal)) {
      const news = part.keys.flatMap((key, at): ReadResult[] => {
        const id = keys.taskOf(key) ?? '';
        const value = part.values[at] ?? null;
        return value !== null && isNews(id, typeof value === 'string' ? value : value.head)
          ? [[id, value]]
          : [];
      });
      await taker.take(news, signal);
    }
    const now = Date.now();
    for (const id of ids) {
      const task = watched.get(id);
      if (task === undefined) continue;
      const silence = now - task.heardAt;
      task.dueAt = now + Math.min(Math.max(silence, FIRST_SILENCE), LONGEST_WAIT);
    }
  }

  /** The history is not told the same again and again, for it would count each time as a change. */
  function isNews(id: string, text: string): boolean {
    const task = watched.get(id);
    const digest = createHash('md5').update(text).digest('base64');
    if (task === undefined || task.told === digest) return false;
    task.told = digest;
    return true;
  }

  async function run(): Promise<void> {
    if (running || signal.aborted) return;
    running = true;
    const all = allWanted;
    allWanted = false;
    try {
      const due = dueTasks(all);
      const count = all ? due.length : Math.min(due.length, BATCH);
      for (let at = 0; at < count; at += BATCH) await askFor(due.slice(at, at + BATCH));
    } catch {
      // Redis is away: the next time will do.
      allWanted ||= all;
    } finally {
      running = false;
    }
  }

  return {
    start() {
      const timer = setInterval(() => void run(), INTERVAL).unref();
      signal.addEventListener('abort', () => clearInterval(timer), { once: true });
    },
    askAll() {
      allWanted = true;
      void run();
    },
  };
}
