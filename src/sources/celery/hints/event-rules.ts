/** Hints from messages that workers and clients send or do not send. */

import type { Hint } from '../hint.ts';
import { listed } from '../hint.ts';
import type { UnreadableFacts, WorkerFacts } from './facts.ts';
import { type HintInput, upFor } from './input.ts';

/** Workers without any message for this long, in milliseconds, are not mentioned. */
const GONE = 120_000;

/**
 * Workers whose task events are off (celery/worker: `worker_send_task_events`, off by default).
 *
 * Evidence: by its heartbeats, a worker has begun two tasks or more, and there was no event about a task from
 * it for 5 s, although each begun task sends `task-started` at once. For a worker without heartbeats: three of
 * its results within 10 s, and never an event. Lost events are no evidence: thread pools lose ends, but no
 * starts. Any event about a task refutes it.
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

/** Hints about events, workers and their clocks. */
export function eventHints(input: HintInput): Hint[] {
  return [
    ...eventsOff(input),
    ...sentEventsOff(input),
    ...waitingUnseen(input),
    ...noWorkers(input),
    ...clockSkew(input),
    ...otherSerializers(input),
  ];
}

function eventsOff(input: HintInput): Hint[] {
  const hostnames = workersWithoutEvents(input);
  if (hostnames.length === 0) return [];
  const one = hostnames.length === 1;
  const { control, enableEvents } = input.options;
  const canEnable = control && !enableEvents && input.problems.control === null;
  const more = canEnable ? ', or let this monitor do it: enableEvents: true' : '';
  const line = 'worker_send_task_events = True';
  return [
    {
      code: 'events_off',
      component: 'collector',
      sentence:
        `${one ? 'Worker' : 'Workers'} ${listed(hostnames)} ${one ? 'runs tasks but sends' : 'run tasks but send'} ` +
        `no events about them. Start ${one ? 'it' : 'them'} with -E or set ${line}${more}.`,
      line,
    },
  ];
}

/**
 * Evidence: of the tasks received lately, five or more and at least a quarter had not been announced
 * within 10 s. Only first attempts count that were received after the queues had been seen to be empty,
 * or later than a minute after we were connected: earlier ones may have been sent before.
 */
function sentEventsOff({ options, facts, broker }: HintInput): Hint[] {
  const { announced, unannounced, names } = facts.sent;
  if (broker?.up !== true || unannounced < 5 || unannounced * 3 < announced) return [];
  const unlisted = options.listsMessages === false ? ', and tasks that wait are not listed' : '';
  const such = names.length === 0 ? '' : ` such as ${listed(names)}`;
  const line = 'task_send_sent_event = True';
  return [
    {
      code: 'sent_events_off',
      component: 'collector',
      sentence:
        `Workers receive tasks${such} without a task-sent event, so it is unknown when they were sent${unlisted}. ` +
        `Set ${line} in the configuration of their clients.`,
      line,
    },
  ];
}

/** For so many milliseconds, no client has reported a task. */
const UNREPORTED = 10_000;

/**
 * Evidence: messages cannot be listed, some wait in a queue, and no client has reported a task that it sent since we
 * were connected.
 */
function waitingUnseen({ options, facts, broker, now }: HintInput): Hint[] {
  if (options.listsMessages !== false || facts.sent.isHeard || upFor(broker, now) < UNREPORTED) return [];
  const waiting = (facts.queues ?? []).filter((queue) => (queue.waiting ?? 0) > 0).map(({ name }) => name);
  // The other hint names the same setting.
  if (waiting.length === 0 || facts.sent.unannounced >= 5) return [];
  const line = 'task_send_sent_event = True';
  return [
    {
      code: 'sent_events_off',
      component: 'collector',
      sentence:
        `Tasks wait in ${listed(waiting)}, but this broker cannot list them. They are shown only if ` +
        `their clients report that they send them. Set ${line} in the configuration of the clients.`,
      line,
    },
  ];
}

/** Evidence: tasks wait in the queues, we are connected, and there was no message from any worker for 30 s. */
function noWorkers({ facts, broker, now }: HintInput): Hint[] {
  const waiting = (facts.queues ?? []).filter((queue) => (queue.waiting ?? 0) > 0);
  const silence = Math.min(upFor(broker, now), now - (facts.lastWorker ?? 0));
  if (waiting.length === 0 || silence < 30_000) return [];
  const names = waiting.map(({ name }) => name);
  // Users may paste this into a shell.
  const plain = names
    .filter((name) => /^[\w.:@-]+$/.test(name))
    .toSorted()
    .slice(0, 5);
  const line = `celery -A <app> worker -E${plain.length === 0 ? '' : ` -Q ${plain.join(',')}`}`;
  return [
    {
      code: 'no_workers',
      component: 'collector',
      sentence: `Tasks wait in ${listed(names)}, and no worker has reported for 30 s. Start one: ${line}`,
      line,
    },
  ];
}

/** Evidence: three heartbeats in a row were more than a minute off; one that is not refutes it. */
function clockSkew({ facts, now }: HintInput): Hint[] {
  const skewed = [...facts.workers].filter(
    ([, { skewed, lastHeard }]) => skewed >= 3 && now - lastHeard < GONE,
  );
  if (skewed.length === 0) return [];
  const names = skewed.map(([hostname]) => hostname);
  const worst = Math.max(...skewed.map(([, { skew }]) => Math.abs(skew)));
  const line = 'timedatectl set-ntp true';
  return [
    {
      code: 'clock_skew',
      component: 'collector',
      sentence:
        `The clock of ${listed(names)} differs from this monitor's by ${Math.round(worst / 1000)} s, so times ` +
        `and orders may be wrong. Synchronize the clocks, for example with ${line}.`,
      line,
    },
  ];
}

/** How long unreadable messages are mentioned, in milliseconds, and how many readable ones refute them. */
const UNREAD_FOR = 600_000;
const READ_AGAIN = 20;

/**
 * Whether messages use another serializer: three or more did, the last within ten minutes, and fewer than
 * twenty readable ones have arrived since.
 */
export function areUnreadable(facts: Readonly<UnreadableFacts>, now: number): boolean {
  return facts.count >= 3 && facts.readSince < READ_AGAIN && now - facts.last < UNREAD_FOR;
}

function otherSerializers({ facts, now }: HintInput): Hint[] {
  const hints: Hint[] = [];
  const { event } = facts.unreadable;
  if (areUnreadable(event, now)) {
    const line = "event_serializer = 'json'";
    const sentence = `Some events are not in JSON and cannot be read. Set ${line}.`;
    hints.push({ code: 'event_serializer', component: 'collector', sentence, line });
  }
  if (facts.repliesUnreadable) {
    const writers = facts.repliers.length === 0 ? 'workers' : listed(facts.repliers);
    const line = "task_serializer = 'json'";
    const sentence =
      `Remote control replies of ${writers} are not in JSON, so their pool, queues and tasks are not shown. ` +
      `Set ${line}, which also applies to replies.`;
    hints.push({ code: 'control_serializer', component: 'collector', sentence, line });
  }
  return hints;
}
