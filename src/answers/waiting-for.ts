/** Why a task waits. */
import { counted, inWords } from '../findings/finding.ts';
import type { AwaitedTasks } from '../model.ts';
import type { TaskBody } from '../wire.ts';
import { type Crews, crewsOf, type WaitingSituation } from './crews.ts';
import { queueCause, timeInWords, type Wait, wait } from './queue-causes.ts';

/** A task as lists show it, and what only its source knows. */
export interface AskedTask {
  readonly body: TaskBody;
  readonly ahead: number | null;
  readonly waitsFor: AwaitedTasks | null;
}

const WAITING: ReadonlySet<string> = new Set(['PENDING', 'RECEIVED', 'RETRY']);

/** Whether a task in this state waits. */
export function isWaiting({ state, flags }: Pick<TaskBody, 'state' | 'flags'>): boolean {
  return WAITING.has(state) && !flags.includes('end_unseen');
}

/** A waiting task with its deployment. */
interface WaitingTask extends AskedTask {
  readonly situation: WaitingSituation;
  readonly crews: Crews;
  readonly eta: number | null;
  readonly now: number;
}

/** The causes in order of precedence: what belongs to the task itself comes before what holds up others, too. */
const CAUSES: readonly ((task: WaitingTask) => Wait | null)[] = [
  missing,
  awaitsOthers,
  untilEta,
  onWorker,
  inQueue,
];

/**
 * Why a task waits; `null`: it does not. `unknown` says what is lacking.
 *
 * @param now milliseconds since 1970
 */
export function waitingFor(asked: AskedTask, situation: WaitingSituation, now: number): Wait | null {
  const { body } = asked;
  if (!isWaiting(body)) return null;
  const task = { ...asked, situation, crews: crewsIn(situation, now), eta: timeOf(body.eta), now };
  for (const cause of CAUSES) {
    const found = cause(task);
    if (found !== null) return { ...found, since: found.since ?? sinceOf(task) };
  }
  return wait('unknown', lackIn(task), { since: sinceOf(task) });
}

/** Many tasks are asked for in the same situation, within seconds. */
const known = new WeakMap<WaitingSituation, Crews>();

function crewsIn(situation: WaitingSituation, now: number): Crews {
  const crews = known.get(situation) ?? crewsOf(situation, now);
  known.set(situation, crews);
  return crews;
}

function timeOf(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}

/** When it could have started; before its eta, and for a retry, when it last changed. */
function sinceOf({ body, eta, now }: WaitingTask): number | null {
  const { state, received, sent, timestamp } = body;
  if (eta !== null && eta <= now) return eta;
  if (state === 'RETRY') return timeOf(timestamp);
  return timeOf(state === 'RECEIVED' ? (received ?? sent) : sent) ?? timeOf(timestamp);
}

function missing({ body }: WaitingTask): Wait | null {
  if (!body.flags.includes('never_received')) return null;
  return wait('missing', 'It was sent, and is in no queue and on no worker: it will not run.', {
    evidence: { queue: body.queue },
  });
}

/** Celery's result backends without counters look again and again whether the header of a chord has ended. */
const UNLOCK = 'celery.chord_unlock';

function awaitsOthers({ body, waitsFor, eta, now }: WaitingTask): Wait | null {
  if (body.name === UNLOCK && (eta ?? 0) > now) {
    const again = timeInWords(eta as number, now);
    return wait('chord_header', `Waits for the header of a chord; looks again at ${again}.`, { until: eta });
  }
  if (waitsFor === null || waitsFor.done >= waitsFor.total) return null;
  const { relation, done, total } = waitsFor;
  const evidence = { done, total };
  return relation === 'children'
    ? wait('children', `Waits for its children: ${done} of ${total} done.`, { evidence })
    : wait('chord_header', `Waits for the header of its chord: ${done} of ${total} done.`, { evidence });
}

function untilEta({ body, eta, now }: WaitingTask): Wait | null {
  if (eta === null || eta <= now) return null;
  const { worker, retries } = body;
  const evidence = { worker, retries };
  const time = timeInWords(eta, now);
  if ((retries ?? 0) > 0 || body.state === 'RETRY') {
    return wait('retry_delay', `Retries at ${time}.`, { until: eta, evidence });
  }
  return wait('eta', `Starts at ${time} at the earliest.`, { until: eta, evidence });
}

/** A worker has taken it and not started it yet. */
function onWorker(task: WaitingTask): Wait | null {
  const { body, crews, situation, now } = task;
  const { worker: hostname, state, name } = body;
  if (state !== 'RECEIVED' || hostname === null) return null;
  const evidence = { worker: hostname };
  if (body.flags.includes('worker_lost')) {
    const lost = `${hostname} had it and no longer responds: whether the broker delivers it again is unknown.`;
    return wait('unknown', lost, { evidence });
  }
  const worker = crews.worker(hostname);
  const running = worker === undefined ? null : crews.running(worker);
  const slots = worker?.concurrency ?? null;
  const isFull = running !== null && (slots === null ? running.count > 0 : running.count >= slots);
  if (isFull) {
    const { count, longest } = running;
    const first =
      count === 1 && longest?.name != null
        ? `a task ${longest.name} runs`
        : `${counted(count, 'task')} ${count === 1 ? 'runs' : 'run'}`;
    const most = count === 1 ? '' : 'up to ';
    const time = longest === undefined ? '' : `, for ${most}${inWords(now - longest.startedAt)}`;
    return wait('reserved', `Reserved by ${hostname}, where ${first}${time}.`, {
      evidence: { ...evidence, slots, running: count, task_id: longest?.id ?? null },
    });
  }
  const limit = name === null ? undefined : worker?.rateLimits?.[name];
  if (limit !== undefined && limit !== '0') {
    return wait('rate_limit', `${hostname} starts at most ${limit} of ${name}.`, {
      evidence: { ...evidence, rate_limit: limit },
    });
  }
  const lack =
    situation.workers === null
      ? 'The workers could not be read in time.'
      : running === null
        ? `${hostname} has it; what it runs is unknown.`
        : `${hostname} has it and a free slot, and has not started it yet.`;
  return wait('unknown', lack, { evidence });
}

function inQueue(task: WaitingTask): Wait | null {
  const { body, crews, situation, now } = task;
  if (body.queue === null) return null;
  const crew = crews.crewOf(body.queue);
  if (crew.waiting === 0 && !situation.activity?.workersPull) {
    const handed = `Queue ${body.queue} is empty: a worker is taking the task, or its message is gone.`;
    return wait('unknown', handed, { evidence: { queue: body.queue } });
  }
  const others = crew.waiting === null ? null : Math.max(0, crew.waiting - 1);
  const ahead = task.ahead ?? others;
  const found = queueCause({ crew, situation, ahead, isMost: task.ahead === null, now });
  if (found.code !== 'unknown' || body.name === null) return found;
  // The tasks of the name that workers have taken wait there for their turn, and keep others in the queue.
  const limits = crew.workers.map(({ rateLimits }) => rateLimits?.[body.name as string]);
  const [limit] = limits;
  if (limit === undefined || limits.includes(undefined)) return found;
  return wait('rate_limit', `Its workers start at most ${limit} of ${body.name} each.`, {
    evidence: { queue: body.queue, rate_limit: limit, workers: crew.workers.length },
  });
}

function lackIn({ body, situation }: WaitingTask): string {
  if (situation.queues === undefined && situation.workers === undefined) {
    return 'The source reports neither queues nor workers.';
  }
  return body.state === 'RETRY' ? 'When it is retried is unknown.' : 'Its queue is unknown.';
}
