/** Hints from what the result backend reports and what it does not report. */

import type { Hint } from '../hint.ts';
import { shown } from '../hint.ts';
import { areUnreadable, workersWithoutEvents } from './event-rules.ts';
import { type HintInput, resultsSeen, upFor } from './input.ts';

/** Hints about results. */
export function resultHints(input: HintInput): Hint[] {
  return [
    ...trackStartedOff(input),
    ...resultExtendedOff(input),
    ...noResults(input),
    ...withoutBackend(input),
    ...otherSerializer(input),
  ];
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
 * Evidence: by their results, three tasks or more have succeeded; none was stored as started, and no events
 * were received that would have reported it. Where events are on, this setting hides nothing.
 */
function trackStartedOff(input: HintInput): Hint[] {
  const { successes, started } = input.facts.results;
  if (successes < 3 || started > 0 || !eventsAreMissing(input)) return [];
  const line = 'task_track_started = True';
  return [
    {
      code: 'track_started_off',
      component: 'backend',
      sentence:
        `Results report only the end of tasks, not their start, and workers send no events. Set ${line}, ` +
        'or start the workers with -E.',
      line,
    },
  ];
}

/**
 * Evidence: the last three published successes had no name; or three stored ones had none, and none that is
 * newer has one. Failures are no evidence: those of a broken chain or chord never have a name.
 *
 * If events report the names of running tasks, nothing is hidden now, but after a restart the ended tasks will
 * have no names. That is a hint of its own, with a lower rank.
 */
function resultExtendedOff(input: HintInput): Hint[] {
  const { nameless, named, storedNameless, storedNamed } = input.facts.results;
  const isStored = storedNameless >= 3 && storedNameless > storedNamed && named === 0;
  if (nameless < 3 && !isStored) return [];
  const line = 'result_extended = True';
  const isHiding = isStored || eventsAreMissing(input);
  return [
    {
      code: isHiding ? 'result_extended_off' : 'result_extended_off_restart',
      component: 'backend',
      sentence: isHiding
        ? `Results are stored without name, arguments and worker, and for some tasks nothing else has them. Set ${line}.`
        : 'Results are stored without name, arguments and worker. After a restart of this monitor, tasks ' +
          `that have ended lack them. Set ${line}.`,
      line,
    },
  ];
}

/**
 * Evidence: by their events, five tasks or more have succeeded, the first 10 s ago; no result was published,
 * and none was found. A diagnosis may find where they are.
 */
function noResults({ facts, found, options, backend, now }: HintInput): Hint[] {
  if (resultsSeen(facts) > 0 || !options.hasBackend || upFor(backend, now) < 10_000) return [];
  if (facts.finished < 5 || now - (facts.firstFinished ?? now) < 10_000) return [];
  if (found.some(({ code }) => code === 'wrong_result_prefix')) return [];
  const line = "backend: '<result_backend of the app>'";
  return [
    {
      code: 'no_results',
      component: 'backend',
      sentence:
        'Tasks succeed, but no result has arrived. If the app stores results elsewhere, write ' +
        `${line}. If it stores none, history does not survive a restart: set task_ignore_result = False.`,
      line,
    },
  ];
}

/** Evidence: the options alone. */
function withoutBackend({ options }: HintInput): Hint[] {
  if (options.foreignBackend !== null) return [foreignBackend(options.foreignBackend)];
  if (options.hasBackend) return [];
  const line = "backend: 'redis://…/1'";
  return [
    {
      code: 'no_backend',
      component: 'backend',
      sentence:
        'No result backend is read, so history does not survive a restart and results of lost events are ' +
        `missing. Write ${line}, and set result_backend in the app if it has none.`,
      line,
    },
  ];
}

/** Results that are kept where no other process can read them, with the setting to use instead. */
function foreignBackend(scheme: string): Hint {
  const isSql = /^(?:django-db|django_celery_results\.|db|database)(?:$|[+:.\w])/.test(scheme);
  const isRpc = /^(?:rpc|amqp)$/.test(scheme);
  const line = isSql ? "sql: { dialect: 'postgres', query }" : "result_backend = 'redis://…/1'";
  const reason = isRpc ? ': they are messages that only the client that sent the task receives' : '';
  const remedy = isSql
    ? `Write ${line}, with a function of the app's own client of its database.`
    : `This monitor reads results in Redis, and in the database of the app by the option sql: ${line}.`;
  return {
    code: 'foreign_backend',
    component: 'backend',
    sentence:
      `Results in ${shown(scheme)} ${isSql ? 'are not read' : 'cannot be read'}${reason}. States come from events only, ` +
      `and history does not survive a restart. ${remedy}`,
    line,
  };
}

function otherSerializer({ facts, now }: HintInput): Hint[] {
  if (!areUnreadable(facts.unreadable.result, now)) return [];
  const line = "result_serializer = 'json'";
  const sentence = `Some results are not in JSON and cannot be read. Set ${line}.`;
  return [{ code: 'result_serializer', component: 'backend', sentence, line }];
}
