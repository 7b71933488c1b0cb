/**
 * The rules of the hints. Each looks for evidence and returns a sentence that says what is hidden, and what to write.
 * `null`: there is no evidence.
 */
import type { ConnectionState } from '../../../kept-connection.ts';
import type { Broker } from '../broker.ts';
import { type HintCode, type HintComponent, listed, type Problem, shown } from '../hint.ts';
import type { ResultBackend } from '../result-backend.ts';
import type { CelerySettings } from '../settings.ts';
import { type AccessProblems, type Facts, HELD_MS, type WorkerFacts } from './observer.ts';

/** The parts of a deployment on which hints depend. */
export interface HintedDeployment {
  /** `null` where it cannot be read. */
  readonly broker: Broker | null;
  /** `null` without a result backend that can be read. */
  readonly backend: ResultBackend | null;
  /** Whether workers may be asked. */
  readonly control: boolean;
  /** Whether to turn events on in workers that send none. */
  readonly enableEvents: boolean;
  /** The scheme of a broker or result backend that cannot be read, such as `sqs`; `null` without one. */
  readonly foreignBroker: string | null;
  readonly foreignBackend: string | null;
  readonly settings: CelerySettings;
}

/** Everything that is known at one moment. */
export interface HintInput {
  readonly deployment: HintedDeployment;
  readonly facts: Facts;
  readonly problems: AccessProblems;
  /** The connection over which events arrive; `null` without one. */
  readonly broker: ConnectionState<Problem> | null;
  /** The connection over which results arrive; `null` without one. */
  readonly backend: ConnectionState<Problem> | null;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** All rules that judge what has arrived. Rights, channels and versions are found by broker and result backend. */
export const RULES: readonly {
  readonly code: HintCode;
  readonly component: HintComponent;
  readonly sentence: (input: HintInput) => string | null;
}[] = [
  { code: 'unsupported_transport', component: 'broker', sentence: foreignBroker },
  { code: 'unsupported_transport', component: 'broker', sentence: foreignKeys },
  { code: 'unsupported_transport', component: 'backend', sentence: foreignBackend },
  { code: 'broker_version', component: 'broker', sentence: queuesRefused },
  { code: 'no_workers', component: 'collector', sentence: noWorkers },
  { code: 'events_off', component: 'collector', sentence: eventsOff },
  { code: 'thread_pool', component: 'collector', sentence: threadPool },
  { code: 'serializer', component: 'collector', sentence: otherEvents },
  { code: 'serializer', component: 'collector', sentence: otherReplies },
  { code: 'serializer', component: 'backend', sentence: otherResults },
  { code: 'no_results', component: 'backend', sentence: noResults },
  { code: 'sent_events_off', component: 'collector', sentence: sentEventsOff },
  { code: 'result_extended_off', component: 'backend', sentence: resultExtendedOff },
  { code: 'visibility_timeout', component: 'broker', sentence: visibilityTimeout },
  { code: 'prefetch', component: 'collector', sentence: prefetch },
  { code: 'no_backend', component: 'backend', sentence: noBackend },
  { code: 'clock_skew', component: 'collector', sentence: clockSkew },
];

/** How long a connection has been up, in milliseconds; negative while it is down. */
export function upFor(state: ConnectionState<Problem> | null, now: number): number {
  return state?.up === true && state.since !== null ? now - state.since : -1;
}

/** Results that arrived or were read, readable or not. */
export function resultsSeen({ results, unreadable }: Facts): number {
  return results.heard + results.storedNamed + results.storedNameless + unreadable.result.count;
}

/** Workers without any message for this long, in milliseconds, are not mentioned. */
const GONE = 120_000;

/**
 * Workers whose task events are off (celery/worker: `worker_send_task_events`, off by default).
 *
 * Evidence: by its heartbeats, a worker has begun two tasks or more, and there was no event about a task from
 * it for 5 s, although each begun task sends `task-started` at once. For a worker without heartbeats: three of
 * its results within 10 s, and never an event. Any event about a task refutes it.
 */
export function workersWithoutEvents({
  facts,
  now,
  broker,
}: Pick<HintInput, 'facts' | 'now' | 'broker'>): string[] {
  if (broker?.up !== true) return [];
  return [...facts.workers].filter(([, worker]) => isSilent(worker, now)).map(([hostname]) => hostname);
}

function isSilent(worker: Readonly<WorkerFacts>, now: number): boolean {
  const { lastHeard, lastBeat, silentRuns, silentSince, taskEvents, results, firstResult } = worker;
  if (now - lastHeard > GONE) return false;
  if (lastBeat !== null) return silentRuns >= 2 && silentSince !== null && now - silentSince >= 5000;
  return taskEvents === 0 && results >= 3 && firstResult !== null && now - firstResult >= 10_000;
}

function eventsOff(input: HintInput): string | null {
  const hostnames = workersWithoutEvents(input);
  if (hostnames.length === 0) return null;
  const one = hostnames.length === 1;
  const { control, enableEvents } = input.deployment;
  const canEnable = control && !enableEvents && input.problems.control === null;
  const more = canEnable ? ', or let this monitor do it: enableEvents: true' : '';
  return (
    `${one ? 'Worker' : 'Workers'} ${listed(hostnames)} ${one ? 'runs tasks but sends' : 'run tasks but send'} ` +
    `no events about them. Start ${one ? 'it' : 'them'} with -E or set worker_send_task_events = True${more}.`
  );
}

/**
 * Celery up to 5.6.3 loses events of thread pools (https://github.com/celery/celery/issues/10434).
 *
 * Evidence: the worker says that it has threads, and its heartbeats count three ends or more, some seconds ago, of
 * which no event has come.
 */
function threadPool({ facts, now, broker }: HintInput): string | null {
  if (broker?.up !== true) return null;
  const losing = [...facts.workers].filter(
    ([, { pool, lostEnds, lastHeard }]) => pool === 'threads' && lostEnds >= 3 && now - lastHeard <= GONE,
  );
  if (losing.length === 0) return null;
  return (
    `Celery up to 5.6.3 loses events of thread pools, here of ${listed(losing.map(([name]) => name))}: some tasks seem ` +
    'to run until their result is read. Use another pool, such as celery -A <app> worker -P prefork, or update Celery.'
  );
}

/** For so many milliseconds, no client has reported a task. */
const UNREPORTED = 10_000;

/**
 * Evidence: no client has ever reported a task, and workers have received five that were sent while we listened, or
 * tasks wait in a queue that cannot be listed.
 */
function sentEventsOff({ deployment, facts, broker, now }: HintInput): string | null {
  const { isHeard, received, firstReceived } = facts.sent;
  if (isHeard || upFor(broker, now) < UNREPORTED) return null;
  const set = 'Set task_send_sent_event = True in the configuration of the clients.';
  const waiting = deployment.broker?.queues?.listsMessages === false ? waitingQueues(facts) : [];
  if (waiting.length > 0) {
    return (
      `Tasks wait in ${listed(waiting)}, but this broker cannot list them. They are shown only if their clients ` +
      `report that they send them. ${set}`
    );
  }
  if (received < 5 || firstReceived === null || now - firstReceived < UNREPORTED) return null;
  return `Workers receive tasks without a task-sent event, so it is unknown when they were sent. ${set}`;
}

function waitingQueues({ queues }: Facts): string[] {
  return (queues ?? []).filter((queue) => (queue.waiting ?? 0) > 0).map(({ name }) => name);
}

/** Evidence: tasks wait in the queues, we are connected, and there was no message from any worker for 30 s. */
function noWorkers({ facts, broker, now }: HintInput): string | null {
  const waiting = waitingQueues(facts);
  const silence = Math.min(upFor(broker, now), now - (facts.lastWorker ?? 0));
  if (waiting.length === 0 || silence < 30_000) return null;
  // Users may paste this into a shell.
  const plain = waiting
    .filter((name) => /^[\w.:@-]+$/.test(name))
    .toSorted()
    .slice(0, 5);
  const only = plain.length === 0 ? '' : ` -Q ${plain.join(',')}`;
  return `Tasks wait in ${listed(waiting)}, and no worker has reported for 30 s. Start one: celery -A <app> worker -E${only}`;
}

/** Evidence: three heartbeats in a row were more than a minute off; one that is not refutes it. */
function clockSkew({ facts, now }: HintInput): string | null {
  const skewed = [...facts.workers].filter(
    ([, worker]) => worker.skewed >= 3 && now - worker.lastHeard < GONE,
  );
  if (skewed.length === 0) return null;
  const worst = Math.max(...skewed.map(([, { skew }]) => Math.abs(skew)));
  return (
    `The clock of ${listed(skewed.map(([hostname]) => hostname))} differs from this monitor's by ` +
    `${Math.round(worst / 1000)} s, so times and orders may be wrong. Synchronize the clocks, for example with ` +
    'timedatectl set-ntp true.'
  );
}

/**
 * RabbitMQ 4.3 and later refuses the queues for events and remote control that Celery's workers declare by default
 * (error 541), and workers up to Celery 5.6 start again and again
 * (https://www.rabbitmq.com/docs/deprecated-features-list, `transient_nonexcl_queues`).
 *
 * Evidence: the version that the broker names; and that a worker has come online three times in a row within two
 * minutes, or that none has been heard for 30 s.
 */
function queuesRefused({ deployment, facts, broker, now }: HintInput): string | null {
  const version = deployment.broker?.version?.() ?? null;
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  if (major < 4 || (major === 4 && minor < 3)) return null;
  const again = [...facts.arrivals].filter(([, { count, at }]) => count >= 3 && now - at < GONE);
  const silence = Math.min(upFor(broker, now), now - (facts.lastWorker ?? 0));
  if (again.length === 0 && silence < 30_000) return null;
  const seen =
    again.length === 0
      ? 'No worker is heard'
      : `${listed(again.map(([name]) => name))} ${again.length === 1 ? 'starts' : 'start'} again and again`;
  return (
    `${seen}: RabbitMQ ${shown(version ?? '')} refuses the queues for events and remote control that Celery's workers ` +
    'declare by default (error 541). Set control_queue_exclusive = True and event_queue_exclusive = True (Celery 5.6), or ' +
    'permit transient_nonexcl_queues in RabbitMQ.'
  );
}

/** How long unreadable messages are mentioned, in milliseconds, and how many readable ones refute them. */
const UNREAD_FOR = 600_000;
const READ_AGAIN = 20;

/**
 * Whether messages use another serializer: three or more did, the last within ten minutes, and fewer than
 * twenty readable ones have arrived since.
 */
function areUnreadable(facts: Facts['unreadable']['event'], now: number): boolean {
  return facts.count >= 3 && facts.readSince < READ_AGAIN && now - facts.last < UNREAD_FOR;
}

function otherEvents({ facts, now }: HintInput): string | null {
  if (!areUnreadable(facts.unreadable.event, now)) return null;
  return "Some events are not in JSON and cannot be read. Set event_serializer = 'json'.";
}

function otherResults({ facts, now }: HintInput): string | null {
  if (!areUnreadable(facts.unreadable.result, now)) return null;
  return "Some results are not in JSON and cannot be read. Set result_serializer = 'json'.";
}

function otherReplies({ facts }: HintInput): string | null {
  if (!facts.repliesUnreadable) return null;
  const writers = facts.repliers.length === 0 ? 'workers' : listed(facts.repliers);
  return (
    `Remote control replies of ${writers} are not in JSON, so their pool, queues and tasks are not shown. ` +
    "Set task_serializer = 'json', which also applies to replies."
  );
}

/**
 * Whether events miss tasks: a worker's events are off, or there was no event about a task in ten seconds with
 * results.
 */
function eventsAreMissing(input: HintInput): boolean {
  const { facts, broker, now } = input;
  if (workersWithoutEvents(input).length > 0) return true;
  const { firstSuccess } = facts.results;
  const silent = facts.taskEvents === 0 && firstSuccess !== null && now - firstSuccess >= 10_000;
  return silent && upFor(broker, now) >= 10_000;
}

/**
 * Evidence: the last three published successes had no name; or three stored ones had none, and none that is
 * newer has one. Failures are no evidence: those of a broken chain or chord never have a name.
 */
function resultExtendedOff(input: HintInput): string | null {
  const { nameless, named, storedNameless, storedNamed } = input.facts.results;
  const isStored = storedNameless >= 3 && storedNameless > storedNamed && named === 0;
  if (nameless < 3 && !isStored) return null;
  const loss =
    isStored || eventsAreMissing(input)
      ? ', and for some tasks nothing else has them'
      : '. After a restart of this monitor, tasks that have ended lack them';
  return `Results are stored without name, arguments and worker${loss}. Set result_extended = True.`;
}

/**
 * Evidence: by their events, five tasks or more have succeeded, the first 10 s ago; no result was published,
 * and none was found.
 */
function noResults({ facts, deployment, backend, now }: HintInput): string | null {
  if (resultsSeen(facts) > 0 || deployment.backend === null || upFor(backend, now) < 10_000) return null;
  if (facts.finished < 5 || now - (facts.firstFinished ?? now) < 10_000) return null;
  return (
    "Tasks succeed, but no result has arrived. If the app stores results elsewhere, write backend: '<result_backend of " +
    "the app>'. If it stores none, history does not survive a restart: set task_ignore_result = False."
  );
}

/**
 * Redis delivers a message again that is not acknowledged within `visibility_timeout` (kombu/transport/redis.py), and
 * RabbitMQ one that is not within `consumer_timeout`: then it closes the worker's channel. The task runs twice.
 *
 * Evidence: a worker has received a task longer before its eta, or, with `acks_late`, run one for longer.
 */
function visibilityTimeout({ deployment, facts, now }: HintInput): string | null {
  const { broker, settings } = deployment;
  const { visibilityMs } = broker ?? {};
  if (visibilityMs === undefined) return null;
  const held = [facts.longestEta, settings.task_acks_late === true ? facts.longestRun : null].find(
    (known) => known !== null && known.ms > visibilityMs && now - known.at < HELD_MS,
  );
  if (held === undefined || held === null) return null;
  const what = held === facts.longestEta ? 'is sent for so long ahead' : 'runs for so long';
  const enough = Math.ceil((held.ms * 1.5) / 60_000) * 60;
  const isRabbit = broker?.version?.() != null;
  return (
    `A task${held.name === null ? '' : ` ${shown(held.name)}`} ${what} (${Math.round(held.ms / 1_000)} s) that ${isRabbit ? 'RabbitMQ' : 'Redis'} delivers it again, and it runs twice. Set ` +
    (isRabbit
      ? `consumer_timeout = ${enough * 1_000} in rabbitmq.conf, unless that is set already.`
      : `broker_transport_options = {'visibility_timeout': ${enough}} for clients and workers.`)
  );
}

/** A task that runs for longer than this makes others wait, in milliseconds. */
const LONG_MS = 60_000;

/**
 * A worker reserves `worker_prefetch_multiplier` tasks for each slot, 4 by default, which wait for the tasks that it runs
 * while another worker is free.
 *
 * Evidence: a task has run for more than a minute, and one of several workers asks for two tasks or more for each slot. An
 * eta refutes it: workers ask for one more for each task that is not due.
 */
function prefetch({ facts, now }: HintInput): string | null {
  const { longestRun: run, longestEta, workers } = facts;
  const isLong = run !== null && run.ms > LONG_MS && now - run.at < HELD_MS;
  const present = [...workers].filter(([, { lastHeard }]) => now - lastHeard <= GONE);
  if (!isLong || longestEta !== null || present.length < 2) return null;
  const names = present.flatMap(([name, { slots, prefetch: most }]) =>
    slots !== null && slots > 0 && (most ?? 0) >= 2 * slots ? name : [],
  );
  if (names.length === 0) return null;
  return (
    `Tasks that ${listed(names)} ${names.length === 1 ? 'has' : 'have'} reserved wait for long ones, which run for up to ` +
    `${Math.round(run.ms / 1_000)} s, while other workers may be free. Set ` +
    'worker_prefetch_multiplier = 1.'
  );
}

/** Evidence: the options alone. */
function foreignBroker({ deployment: { foreignBroker: scheme } }: HintInput): string | null {
  if (scheme === null) return null;
  return (
    `The broker is ${shown(scheme)}, which this monitor cannot read: it shows results only, without events, queues and ` +
    "workers. It reads Redis and RabbitMQ: broker_url = 'redis://…/0'."
  );
}

/** Evidence: the key of a queue is of another type than kombu writes (kombu/transport/redis.py). */
function foreignKeys({ problems }: HintInput): string | null {
  if (problems.queues?.code !== 'WRONGTYPE') return null;
  return (
    `${problems.queues.sentence} It was not written by Celery's transport for Redis (kombu), so the tasks that wait in it are ` +
    "not shown. Use a transport of kombu's own: broker_url = 'redis://…/0'."
  );
}

/** Results that are kept where no other process can read them, with the setting to use instead. */
function foreignBackend({ deployment: { foreignBackend: scheme } }: HintInput): string | null {
  if (scheme === null) return null;
  const isSql = /^(?:django-db|django_celery_results\.|db|database)(?:$|[+:.\w])/.test(scheme);
  const isRpc = /^(?:rpc|amqp)$/.test(scheme);
  const reason = isRpc ? ': they are messages that only the client that sent the task receives' : '';
  const remedy = isSql
    ? "Write sql: { dialect: 'postgres', query }, with a function of the app's own client of its database."
    : "This monitor reads results in Redis, and in the database of the app by the option sql: result_backend = 'redis://…/1'.";
  return (
    `Results in ${shown(scheme)} ${isSql ? 'are not read' : 'cannot be read'}${reason}. States come from events only, and ` +
    `history does not survive a restart. ${remedy}`
  );
}

/** Evidence: the options alone. */
function noBackend({ deployment }: HintInput): string | null {
  if (deployment.backend !== null || deployment.foreignBackend !== null) return null;
  return (
    'No result backend is read, so history does not survive a restart and results of lost events are missing. Write ' +
    "backend: 'redis://…/1', and set result_backend in the app if it has none."
  );
}
