import type { CollectedHistory } from '../../../history/history.ts';
import type { WorkerSource } from '../../../source.ts';
import type { Replies } from './broadcast.ts';
import type { Control } from './control.ts';
import { queueNames, workerFactsOf } from './worker-facts.ts';

/** All in milliseconds: how old answers may be, how long the first one is waited for, and a new worker let be. */
const STALE = 10_000;
const FIRST_WAIT = 500;
const ONLINE_PAUSE = 1500;
const MAX_QUEUES = 10_000;

/** Facts about workers that only they can tell. */
export interface Inspection {
  /**
   * The same workers, which are asked for their facts when somebody asks for them. Only the first time
   * the answers are waited for.
   */
  withInspection(workers: WorkerSource): WorkerSource;
  /** Asks the workers, once for all who ask at the same time, unless what is known is new. */
  refresh(): Promise<void>;
  /** To be called for each `worker-online`: a new process may have other facts. */
  workerOnline(hostname: string): void;
  /** How many online workers take from each queue; `null` while nobody knows. */
  queuesOf(): ReadonlyMap<string, number> | null;
  /** Names of all queues that a worker has ever said to take from. */
  knownQueues(): string[];
  close(): void;
}

/** Asks workers for `stats`, `active_queues` and `registered` and tells the history. */
export function createInspection(control: Control, history: CollectedHistory): Inspection {
  const queues = new Map<string, readonly string[]>();
  /** Also those that no worker takes from any more: what waits there is of interest most. */
  const names = new Set<string>();
  let answered: ReadonlySet<string> = new Set();
  let freshUntil = Number.NEGATIVE_INFINITY;
  let isKnown = false;
  let flight: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function inspect(): Promise<void> {
    const [stats, active, registered] = await Promise.all([
      control.ask('stats'),
      control.ask('active_queues'),
      control.ask('registered'),
    ]);
    freshUntil = performance.now() + STALE;
    if (stats === null && active === null && registered === null) return;
    const time = Date.now();
    for (const hostname of namesOf(stats, active, registered)) {
      const replies = {
        stats: stats?.values.get(hostname),
        active_queues: active?.values.get(hostname),
        registered: registered?.values.get(hostname),
      };
      history.writer.recordWorker(workerFactsOf(hostname, replies, time));
      const taken = queueNames(replies.active_queues);
      if (taken === undefined) continue;
      queues.set(hostname, taken);
      for (const name of taken) if (names.size < MAX_QUEUES) names.add(name);
    }
    if (active === null) return;
    answered = new Set(active.values.keys());
    isKnown ||= active.values.size > 0;
    forget();
  }

  /** The history holds so many workers, and of those that are gone too long, none. */
  function forget(): void {
    const { responding, missing } = history.index.checkWorkers();
    const there = new Set([...answered, ...responding, ...missing]);
    for (const hostname of queues.keys()) if (!there.has(hostname)) queues.delete(hostname);
  }

  function refresh(): Promise<void> {
    if (closed || performance.now() < freshUntil) return Promise.resolve();
    flight ??= inspect().finally(() => {
      flight = null;
    });
    return flight;
  }

  async function beforeList(): Promise<void> {
    const asking = refresh();
    if (!isKnown) await Promise.race([asking, pause(FIRST_WAIT)]);
  }

  return {
    refresh,
    withInspection(workers) {
      const { status } = workers;
      return {
        ...workers,
        // An answer that has not changed is not asked for again, yet its facts grow old.
        ...(status === undefined
          ? {}
          : {
              status: () => {
                void refresh();
                return status.call(workers);
              },
            }),
        async listWorkers(context) {
          await beforeList();
          return workers.listWorkers(context);
        },
      };
    },
    workerOnline(hostname) {
      control.workerOnline(hostname);
      if (closed || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        freshUntil = Number.NEGATIVE_INFINITY;
        void refresh();
      }, ONLINE_PAUSE).unref();
    },
    queuesOf() {
      if (!isKnown) return null;
      const online = new Set([...answered, ...history.index.checkWorkers().responding]);
      const consumers = new Map<string, number>();
      for (const name of names) consumers.set(name, 0);
      for (const [hostname, taken] of queues) {
        if (!online.has(hostname)) continue;
        for (const name of taken) consumers.set(name, (consumers.get(name) ?? 0) + 1);
      }
      return consumers;
    },
    knownQueues: () => [...names].sort(),
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

function namesOf(...all: readonly (Replies | null)[]): Set<string> {
  return new Set(all.flatMap((replies) => [...(replies?.values.keys() ?? [])]));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
