/** The queues of a deployment: what waits in them, looked at about once a second. */
import type { CollectedHistory } from '../../../history/history.ts';
import type { QueueDepth } from '../../../model.ts';
import type { RedisProblem } from '../../../redis/problems.ts';
import type { RedisReader } from '../../../redis/reader.ts';
import type { Lineage } from '../lineage/lineage.ts';
import type { CelerySettings } from '../settings.ts';
import type { HeldTasks } from './held-tasks.ts';
import { walkLive } from './live-walk.ts';
import { createMessageIntake, type MessageCounts } from './message-intake.ts';
import type { Place } from './place.ts';
import { queueKeys } from './queue-keys.ts';
import { createQueueNames } from './queue-names.ts';
import { createQueuePoll, type QueuePoll } from './queue-poll.ts';
import { createRecentMessages, type RecentMessages } from './recent-messages.ts';
import { createWaitingRows, type WaitingRows } from './waiting-rows.ts';
import type { WalkedPart } from './walk.ts';
import { createWindow } from './window.ts';

/** Between two looks while something happens or somebody asks, and when neither does, in milliseconds. */
const INTERVAL = 1000;
const IDLE_INTERVAL = 5000;
/** Looks without a change, and time without a question, after which nothing happens. */
const IDLE_LOOKS = 5;
const IDLE_AFTER = 10_000;
/** A thousand lists are looked at in no less than this time. */
const PER_LIST = 1;
/** How long a request waits for the first look. */
const FIRST_LOOK = 1000;

/** What {@link createQueues} takes. */
export interface QueuesOptions {
  /** Of the broker. */
  readonly reader: RedisReader;
  readonly settings: CelerySettings;
  readonly history: CollectedHistory;
  readonly lineage: Lineage;
  /** Names of queues that the host gives. */
  readonly given?: readonly string[];
  /** Names of queues that workers read from. */
  readonly known?: () => readonly string[];
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

/** What waits. */
export interface Queues {
  /** Begins to look. */
  start(): void;
  /** Looks no more. */
  stop(): void;
  /** How much waits, by queue; `consumers` is never known here. Empty before the first look. */
  depths(): QueueDepth[];
  counts(): MessageCounts;
  /** Why the last look failed, or what it was refused; `null` when all is well. */
  problem(): RedisProblem | null;
  /** Whether a task waits or is held by a worker; `null` when that cannot be told. */
  holds(id: string): boolean | null;
  /** Changes whenever something that is shown did. */
  revision(): number;
  /** When the next task that waits becomes overdue; of queues that are too long to copy nobody knows. */
  nextEta(): Date | null;
  /** Says that somebody looks at this. */
  asked(): void;
  /** Resolves once the first look has ended, or a second later. */
  ready(): Promise<void>;
  /** All tasks that wait; `null` when there are too many, or nobody has looked yet. */
  held(): HeldTasks | null;
  /** Where {@link Queues.held} comes from; `null` likewise. */
  copies(): QueuePoll | null;
  /** Walks over what is in Redis now. */
  walk(from: Place, wanted: () => number, signal: AbortSignal): AsyncIterable<WalkedPart>;
  readonly recent: RecentMessages;
  readonly rows: WaitingRows;
}

/** Looks at nothing until it is started. */
export function createQueues(options: QueuesOptions): Queues {
  const { reader, settings, history, lineage, given = [], known = () => [], now = Date.now } = options;
  const keys = queueKeys(settings);
  const names = createQueueNames(reader, keys, settings, { given, known });
  const intake = createMessageIntake(history, lineage, names.find);
  const poll = createQueuePoll(reader, keys, names, intake);
  const live = { reader, keys, poll, findQueue: names.find, takenWindow: createWindow() };
  let timer: NodeJS.Timeout | undefined;
  let isRunning = false;
  let isLooking = false;
  let quietLooks = 0;
  let askedAt = now();
  let lookedAt = Number.NEGATIVE_INFINITY;
  let etas: { revision: number; until: number; at: Date | null } | null = null;
  let settle: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    settle = resolve;
  });

  function isIdle(): boolean {
    return quietLooks >= IDLE_LOOKS && now() - askedAt > IDLE_AFTER;
  }

  function schedule(delay: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => void look(), Math.max(0, delay)).unref();
  }

  async function look(): Promise<void> {
    isLooking = true;
    const before = poll.revision();
    lookedAt = now();
    await poll.look(lookedAt);
    settle();
    isLooking = false;
    quietLooks = poll.revision() === before ? quietLooks + 1 : 0;
    if (isRunning) schedule(isIdle() ? IDLE_INTERVAL : interval());
  }

  function interval(): number {
    return Math.max(INTERVAL, poll.lists().length * PER_LIST);
  }

  function nextEta(): Date | null {
    const at = now();
    if (etas?.revision === poll.revision() && at < etas.until) return etas.at;
    let next = Number.POSITIVE_INFINITY;
    for (const { facts } of poll.held()?.messages ?? []) {
      const eta = facts?.eta;
      if (typeof eta === 'number' && eta > at && eta < next) next = eta;
    }
    etas = { revision: poll.revision(), until: next, at: Number.isFinite(next) ? new Date(next) : null };
    return etas.at;
  }

  return {
    start() {
      if (isRunning) return;
      isRunning = true;
      schedule(0);
    },
    stop() {
      isRunning = false;
      clearTimeout(timer);
      settle();
    },
    depths: poll.depths,
    counts: intake.counts,
    problem: poll.problem,
    holds(id) {
      const held = poll.held();
      return held === null || poll.isCurrent() !== true ? null : held.get(id) !== undefined;
    },
    revision: poll.revision,
    nextEta,
    asked() {
      const wasIdle = isIdle();
      askedAt = now();
      if (wasIdle && isRunning && !isLooking) schedule(lookedAt + interval() - askedAt);
    },
    async ready() {
      if (poll.isCurrent() !== null || !isRunning) return;
      let late: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((resolve) => {
        late = setTimeout(resolve, FIRST_LOOK).unref();
      });
      await Promise.race([first, patience]);
      clearTimeout(late);
    },
    held: poll.held,
    copies: () => (poll.held() === null ? null : poll),
    walk: (from, wanted, signal) => walkLive(live, from, wanted, { signal }),
    recent: createRecentMessages(live, now),
    rows: createWaitingRows(now),
  };
}
