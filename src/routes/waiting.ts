/** Why tasks wait, for the page of a task: read from its source, once in a second however many requests there are. */
import type { WaitingSituation } from '../answers/crews.ts';
import { isWaiting, waitingFor } from '../answers/waiting-for.ts';
import type { Monitor } from '../http/monitor.ts';
import type { AwaitedTasks, TaskDetail } from '../model.ts';
import { whole } from '../serialize/shown-values.ts';
import { shareCalls } from '../single-flight.ts';
import { isRecord } from '../values.ts';
import { waitFor } from '../waiting.ts';
import type { TaskBody, WaitBody } from '../wire.ts';
import {
  type Parts,
  partsByName,
  readActivity,
  readQueues,
  readWorkers,
  type SourceReads,
  shownOf,
} from './situation.ts';

/** What was read is read again after this time, in milliseconds. */
export const WAITING_HOLD_MS = 1_000;
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

/** Explains why tasks wait. */
export function createWaitingReader(monitor: Monitor) {
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
