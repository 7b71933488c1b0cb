/** Why the tasks of a queue wait. */

import { counted, inWords } from '../findings/finding.ts';
import type { WaitBody } from '../wire.ts';
import type { Crew, WaitingSituation } from './crews.ts';

/** A queue whose tasks wait. */
interface WaitingQueue {
  readonly crew: Crew;
  readonly situation: WaitingSituation;
  /** Number of tasks that are handed out before the one in question; `null`: unknown, or there is none. */
  readonly ahead: number | null;
  /** Whether `ahead` is only a limit. */
  readonly isMost: boolean;
  readonly now: number;
}

/** The causes in order of precedence: what stops all tasks comes before what slows them down. */
const CAUSES: readonly ((waiting: WaitingQueue) => Wait | null)[] = [
  paused,
  withoutConsumer,
  rateLimited,
  concurrencyLimited,
  workersBusy,
];

/** @returns why its tasks wait; `unknown` says what is lacking */
export function queueCause(waiting: WaitingQueue): Wait {
  for (const cause of CAUSES) {
    const found = cause(waiting);
    if (found !== null) return found;
  }
  return wait('unknown', lackIn(waiting), { evidence: { queue: waiting.crew.name } });
}

/** Why the tasks of a queue wait; `null`: none does. */
export function blockedBy(crew: Crew, situation: WaitingSituation, now: number): Wait | null {
  const { waiting, queue } = crew;
  if (waiting === 0) return null;
  const found = queueCause({ crew, situation, ahead: null, isMost: false, now });
  return { ...found, since: found.since ?? queue?.oldestDueAt ?? null };
}

function paused({ crew: { name, queue } }: WaitingQueue): Wait | null {
  if (queue?.paused !== true) return null;
  return wait('queue_paused', `Queue ${name} is paused.`, { evidence: { queue: name } });
}

function withoutConsumer({ crew: { name, consumers }, situation }: WaitingQueue): Wait | null {
  if (consumers !== 0) return null;
  const online = situation.workers?.filter(({ status }) => status === 'online').length ?? null;
  return wait('no_consumer', `Queue ${name} has no consumer.`, {
    evidence: { queue: name, consumers, workers_online: online },
  });
}

/** If the limit itself is unknown, it must be the cause where a worker could run tasks and runs none. */
function rateLimited({ crew, now }: WaitingQueue): Wait | null {
  const { name, queue, running } = crew;
  const limiter = queue?.limiter ?? null;
  if (limiter === null) return null;
  const { taken, most } = limiter;
  const until = limiter.until?.getTime() ?? null;
  if (until !== null && until <= now) return null;
  const isReached = most === null ? running === 0 : taken >= most;
  if (!isReached) return null;
  const next = until === null ? '' : `; the next is handed out in ${inWords(until - now)}`;
  return wait('rate_limit', `The rate limit of queue ${name} is reached${next}.`, {
    until,
    evidence: { queue: name, taken, limit: most },
  });
}

function concurrencyLimited({ crew: { name, queue }, ahead }: WaitingQueue): Wait | null {
  const limit = queue?.concurrencyLimit ?? null;
  const reserved = queue?.reserved ?? null;
  if (limit === null || reserved === null || reserved < limit) return null;
  return wait('concurrency_limit', `Queue ${name} runs at most ${counted(limit, 'task')} at a time.`, {
    evidence: { queue: name, limit, running: reserved, ahead },
  });
}

function workersBusy({ crew, ahead, isMost, situation, now }: WaitingQueue): Wait | null {
  const { name, slots, running, queue, pace, runSeconds } = crew;
  if (slots === null || running === null || running < slots) return null;
  // BullMQ does not store the limits of workers: either may be the cause.
  if (situation.activity?.workersPull && queue?.limiter != null && queue.limiter.most === null) return null;
  const perSecond = pace ?? (runSeconds ? slots / runSeconds : null);
  const seconds = perSecond === null || ahead === null ? null : (ahead + 1) / perSecond;
  const behind =
    ahead === null || ahead === 0 ? '' : `Behind ${isMost ? 'up to ' : ''}${counted(ahead, 'task')}; `;
  const busy = slots === 1 ? 'the only slot is busy' : `all ${slots} slots are busy`;
  const expected = seconds === null ? '' : `, ${isMost ? 'up to' : 'about'} ${inWords(seconds * 1_000)}`;
  const text = `${behind}${busy}${expected}.`;
  return wait('workers_busy', text.charAt(0).toUpperCase() + text.slice(1), {
    until: seconds === null ? null : now + seconds * 1_000,
    evidence: { queue: name, slots, ahead, ahead_is_limit: isMost, usual_seconds: runSeconds },
  });
}

/** What would have to be known. */
function lackIn({ crew, situation, now }: WaitingQueue): string {
  const { name, consumers, queue, slots, running, workers } = crew;
  const { activity } = situation;
  if (situation.queues === null) return 'The queues could not be read in time.';
  if (situation.workers === null) return 'The workers could not be read in time.';
  if (activity === null) return 'What runs could not be read in time.';
  if (activity?.workersPull && queue?.limiter != null && (running ?? 0) > 0) {
    const { taken, until } = queue.limiter;
    const reset = until === null ? '' : `, resets in ${inWords(until.getTime() - now)}`;
    return `All workers are busy, or the rate limit is reached (${taken} taken${reset}): the engine does not store the limit.`;
  }
  if (consumers === null && workers.length === 0) return `It is unknown which workers consume from ${name}.`;
  if (activity === undefined) return 'The source does not report what runs.';
  if (activity.blind !== null) return activity.blind;
  if (activity.workersPull)
    return `No task of ${name} runs, and a consumer is connected: it may have stopped taking tasks.`;
  if (slots === null) return `It is unknown how many slots the workers of ${name} have.`;
  if (running === null) return `It is unknown how many tasks run on the workers of ${name}.`;
  return `The workers of ${name} have ${counted(slots - running, 'free slot')} and have not taken what waits.`;
}

/** Why a task or the tasks of a queue wait. */
export interface Wait {
  readonly code: WaitBody['code'];
  /** One sentence for people. */
  readonly summary: string;
  /** When the wait will end, known or estimated; `null`: unknown. */
  readonly until: number | null;
  /** Since when it waits; `null`: unknown. */
  readonly since: number | null;
  /** Figures and names behind it. */
  readonly evidence: Readonly<Record<string, string | number | boolean | null>>;
}

/** @param known what is known beyond code and sentence */
export function wait(code: Wait['code'], summary: string, known: Partial<Wait> = {}): Wait {
  return { code, summary, until: null, since: null, evidence: {}, ...known };
}

/** A time in words: without its date if that is today, in UTC. */
export function timeInWords(time: number, now: number): string {
  const [day, clock] = new Date(time).toISOString().slice(0, 19).split('T') as [string, string];
  const isToday = new Date(now).toISOString().startsWith(day);
  return isToday ? `${clock} UTC` : `${day} ${clock} UTC`;
}
