import type { WaitingSituation } from '../answers/crews.ts';
import { isWaiting, waitingFor } from '../answers/waiting-for.ts';
import { contentOf } from '../http/answer-body.ts';
import { createDocument, keyOf } from '../http/document.ts';
import type { Monitor } from '../http/monitor.ts';
import { defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import type { AwaitedTasks, TaskDetail } from '../model.ts';
import type { LinkedTask } from '../options.ts';
import { wellFormed, whole } from '../serialize/shown-values.ts';
import { shareCalls } from '../single-flight.ts';
import { isWebLink } from '../text.ts';
import { frozen, isRecord } from '../values.ts';
import { waitFor } from '../waiting.ts';
import type { TaskBody, TaskLinkBody, WaitBody } from '../wire.ts';
import {
  type Parts,
  partsByName,
  readActivity,
  readQueues,
  readWorkers,
  type SourceReads,
  shownOf,
} from './situation.ts';

/** `GET /api/tasks/{task_id}/` */
export const task = defineRoute({
  name: 'task',
  path: '/api/tasks/{task_id}/',
  summary: 'One task with full values, its children and its timeline',
  query: {},
  body: 'TaskDetailBody',
  errors: ['task_not_found', ...SOURCE_ERRORS],
  cached: true,
  open(monitor) {
    const part = monitor.sources.tasks;
    const waiting = createWaitingReader(monitor);
    return (asked) =>
      createDocument(monitor, {
        part,
        call: 'getTask',
        key: keyOf('task', asked),
        read: (source, context) => source.getTask(asked.taskId, context),
        prepare: (detail, sourceOf, now) => waiting.prepare(detail, sourceOf, now),
        *content(detail: TaskDetail | null | undefined, sourceOf, now) {
          // A source that reads a Map may return undefined.
          if (detail === null || detail === undefined) return null;
          const shown = monitor.serializer.taskDetail(detail, sourceOf(detail));
          if (shown === null) throw new TypeError('getTask() must return a task with id and state, or null.');
          yield;
          const body = { ...shown, waiting_for: waiting.bodyOf(detail, shown) };
          const content = contentOf({ ...body, links: linksOf(monitor, body) });
          // The answer depends on other tasks, too.
          return body.waiting_for === null ? content : { ...content, changesAt: now + WAITING_HOLD_MS };
        },
      });
  },
});

const MOST_LINKS = 10;
const LONGEST_TEXT = 200;

/** @param task as served; it gets frozen, since the host must not change the answer */
function linksOf({ options: { taskLinks }, report }: Monitor, task: LinkedTask): TaskLinkBody[] {
  if (taskLinks === null) return [];
  const context = { code: 'source_invalid', source: null, call: 'taskLinks' } as const;
  try {
    const given: unknown = taskLinks(frozen(task));
    if (!Array.isArray(given)) {
      // An unhandled rejection would end the host's process.
      new Promise((adopt) => adopt(given)).catch(() => {});
      throw new TypeError('taskLinks(task) must return an array of { text, url } at once, not a promise.');
    }
    const links = given.slice(0, MOST_LINKS).flatMap(linkOf);
    if (links.length < Math.min(given.length, MOST_LINKS)) {
      report(
        new TypeError(
          'taskLinks(task): a text is missing, or a url is not a path or an http(s) URL without a password.',
        ),
        context,
      );
    }
    return links;
  } catch (error) {
    report(error, context);
    return [];
  }
}

function linkOf(link: unknown): TaskLinkBody[] {
  if (!isRecord(link)) return [];
  const { text, url } = link;
  if (typeof text !== 'string' || text.trim() === '' || !isWebLink(url)) return [];
  return [{ text: wellFormed(text.slice(0, LONGEST_TEXT)), url: wellFormed(url) }];
}

/** What was read is read again after this time, in milliseconds. */
const WAITING_HOLD_MS = 1_000;
/** No request waits for a new reading while the last one is younger than this, in milliseconds. */
const RECENT_MS = 3_000;
/** A reading older than this is not used. While one request waits for a new one, others use what is younger. */
const OLD_MS = 15_000;
/** Share of an answer's time limit: a slow source must not hold up the task. */
const SHARE = 0.3;
/** The rest of the time limit must suffice to write the answer. */
const SHARE_OF_ALL = 0.8;

/** What could not be read in time. */
const UNREAD: WaitingSituation = { activity: null, workers: null, queues: null };

/** Explains why tasks wait: read from their source, once in a second however many requests there are. */
function createWaitingReader(monitor: Monitor) {
  const { options, serializer, report } = monitor;
  const sources = new Map(
    [...partsByName(monitor.sources)].map(([name, parts]) => [name, heldSituation(monitor, name, parts)]),
  );
  /** Of tasks that are being answered. */
  const situations = new WeakMap<TaskDetail, WaitingSituation>();

  /** Within a share of the time that is left. @param startedAt when the request began */
  function read(detail: TaskDetail, source: string, startedAt: number): Promise<void> | undefined {
    const situation = sources.get(source);
    const note = (): void => void situations.set(detail, situation?.latest() ?? UNREAD);
    const reading = situation?.refresh();
    note();
    if (reading === undefined) return undefined;
    const left = SHARE_OF_ALL * options.timeoutMs - (Date.now() - startedAt);
    return waitFor(reading, { ms: Math.max(0, Math.min(SHARE * options.timeoutMs, left)) }).then(note);
  }

  function explain(detail: TaskDetail, body: TaskBody, situation: WaitingSituation): WaitBody | null {
    const asked = { body, ahead: whole(detail.ahead), waitsFor: awaitedTasks(detail.waitsFor) };
    const found = waitingFor(asked, situation, Date.now());
    return found === null ? null : serializer.wait(found);
  }

  return {
    /** Reads what is needed for a task. Never rejects; `undefined`: everything is there. */
    prepare: (
      detail: TaskDetail | null | undefined,
      sourceOf: (detail: TaskDetail) => string,
      startedAt: number,
    ): Promise<void> | undefined =>
      isRecord(detail) && isWaiting({ state: String(detail.state), flags: [] })
        ? read(detail, sourceOf(detail), startedAt)
        : undefined,
    /** Why a prepared task waits; `null`: it does not. @param body the task as it is shown */
    bodyOf(detail: TaskDetail, body: TaskBody): WaitBody | null {
      try {
        return explain(detail, body, situations.get(detail) ?? UNREAD);
      } catch (error) {
        report(error, { code: 'source_invalid', source: body.source, call: 'getActivity' });
        return explain(detail, body, { ...UNREAD, activity: undefined });
      }
    },
  };
}

/** The situation of one source, which is read at most once in a second, however many requests there are. */
function heldSituation(monitor: Monitor, name: string, parts: Parts) {
  let held = UNREAD;
  let readAt = Number.NEGATIVE_INFINITY;
  let isReading = false;
  const read = shareCalls(async () => {
    isReading = true;
    try {
      held = await readParts(monitor, name, parts);
      readAt = performance.now();
    } finally {
      isReading = false;
    }
  });
  return {
    latest: () => (performance.now() - readAt < OLD_MS ? held : UNREAD),
    /** Begins to read if it is time. Never rejects. @returns `undefined`: this request need not wait for that */
    refresh(): Promise<void> | undefined {
      const age = performance.now() - readAt;
      if (age < WAITING_HOLD_MS || (isReading && age < OLD_MS)) return undefined;
      const reading = read();
      return age < RECENT_MS ? undefined : reading;
    },
  };
}

function awaitedTasks(given: unknown): AwaitedTasks | null {
  if (!isRecord(given)) return null;
  const [done, total] = [whole(given.done), whole(given.total)];
  const relation = given.relation === 'children' ? 'children' : 'chord';
  return done === null || total === null ? null : { relation, done, total };
}

async function readParts(monitor: Monitor, name: string, parts: Parts): Promise<WaitingSituation> {
  const timeoutMs = Math.floor(SHARE * monitor.options.timeoutMs);
  const reads: SourceReads = { monitor, name, failures: [], key: 'waiting', timeoutMs };
  const [activity, workers, queues] = await Promise.all([
    readActivity(reads, parts.experimental),
    readWorkers(reads, parts.workers),
    readQueues(reads, parts.queues),
  ]);
  return { activity, workers: shownOf(workers), queues: shownOf(queues) };
}
