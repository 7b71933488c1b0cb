/**
 * From what was told of a task to what is true of it. The result depends on the set of entries alone,
 * not on their order of arrival: messages of clients, workers and the result backend overtake each
 * other all the time.
 *
 * A task may run more than once: retries, redelivery, `replace()`. Each `received` opens a run; what a
 * worker says belongs to the last run it received before. Within a run the highest kind tells the
 * state (so a late `started` never reopens an ended run); between runs the higher number of retries
 * wins, then the later change. What the backend tells has mostly no time, so it is placed by its
 * number of retries. This is where Celery's own reducer (celery.events.state) goes wrong: it ranks
 * states over the task's whole life, so a custom state hides REVOKED and a second run stays SUCCESS.
 */

import { KIND, type TimelinePool } from '../table/timeline.ts';
import { createSentFold } from './fold-sent.ts';
import { type Folded, MAX_ENTRIES } from './folded.ts';

const UNSEEN = -1;

/** @returns a function that folds a chain of entries into one reused object */
export function createFold(pool: TimelinePool): (head: number) => Folded {
  const entries = new Int32Array(MAX_ENTRIES + 1);
  const runs = new Int32Array(MAX_ENTRIES + 1);
  const runTime = new Float64Array(MAX_ENTRIES + 2);
  const runWorker = new Int32Array(MAX_ENTRIES + 2);
  const runRetries = new Int32Array(MAX_ENTRIES + 2);
  const runArrival = new Int32Array(MAX_ENTRIES + 2);
  const runTop = new Int32Array(MAX_ENTRIES + 2);
  const runStarted = new Int32Array(MAX_ENTRIES + 2);
  const runReceived = new Int32Array(MAX_ENTRIES + 2);
  const sentOf = createSentFold(pool);
  let runCount = 0;
  const out: Folded = {
    kind: KIND.SENT,
    state: 0,
    timestamp: Number.NaN,
    worker: 0,
    sent: Number.NaN,
    received: Number.NaN,
    started: Number.NaN,
    finished: Number.NaN,
    runtime: Number.NaN,
    retries: -1,
    count: 0,
    entries,
    runs,
  };

  return function fold(head) {
    let count = 0;
    for (let entry = head; entry !== 0 && count < MAX_ENTRIES; entry = pool.next(entry)) {
      entries[count++] = entry;
    }
    out.count = count;
    openRuns(count);
    const received = runCount;
    for (let at = 0; at < count; at++) {
      const entry = entries[at] as number;
      const kind = pool.kind(entry);
      if (kind === KIND.SENT) runs[at] = UNSEEN;
      else if (!pool.isResult(entry))
        put(at, entry, kind === KIND.RECEIVED ? runOfArrival(at) : runOfEvent(entry));
    }
    for (let at = 0; at < count; at++) {
      const entry = entries[at] as number;
      if (pool.isResult(entry) && pool.kind(entry) !== KIND.SENT)
        put(at, entry, runOfResult(at, entry, received));
    }
    conclude(count);
    return out;
  };

  /** One run per `received`, by time. */
  function openRuns(count: number): void {
    runCount = 0;
    for (let at = 0; at < count; at++) {
      const entry = entries[at] as number;
      if (pool.kind(entry) !== KIND.RECEIVED) continue;
      const time = pool.time(entry);
      let place = runCount++;
      for (; place > 0 && (runTime[place - 1] as number) > time; place--) copyRun(place - 1, place);
      setRun(place, time, pool.worker(entry), Math.max(0, pool.retries(entry)), at);
      runReceived[place] = entry;
    }
  }

  function copyRun(from: number, to: number): void {
    setRun(
      to,
      runTime[from] as number,
      runWorker[from] as number,
      runRetries[from] as number,
      runArrival[from] as number,
    );
    runReceived[to] = runReceived[from] as number;
  }

  function setRun(run: number, time: number, worker: number, retries: number, arrival: number): number {
    runTime[run] = time;
    runWorker[run] = worker;
    runRetries[run] = retries;
    runArrival[run] = arrival;
    runTop[run] = 0;
    runStarted[run] = 0;
    runReceived[run] = 0;
    return run;
  }

  function runOfArrival(at: number): number {
    for (let run = 0; run < runCount; run++) if (runArrival[run] === at) return run;
    return 0;
  }

  /** The last run that this worker received before; another worker's where it received none that we saw. */
  function runOfEvent(entry: number): number {
    const time = pool.time(entry);
    const worker = pool.worker(entry);
    let own = -1;
    let any = -1;
    for (let run = 0; run < runCount; run++) {
      // A run whose beginning was not seen stands behind the others in the list, not in time.
      if ((runTime[run] as number) > time || runTime[run] === -Infinity) continue;
      any = run;
      if (worker !== 0 && runWorker[run] === worker) own = run;
    }
    return own >= 0 ? own : any >= 0 ? any : unseenRun();
  }

  /** The run whose `received` we did not see. */
  function unseenRun(): number {
    for (let run = 0; run < runCount; run++) if (runTime[run] === -Infinity) return run;
    return setRun(runCount++, -Infinity, 0, UNSEEN, -1);
  }

  function runOfResult(at: number, entry: number, received: number): number {
    const retries = Math.max(0, pool.retries(entry));
    if (received === 0 && runCount === 1 && runArrival[0] === -1) {
      // Its worker's events are known but for their beginning: they and the backend tell of one run.
      runRetries[0] = Math.max(runRetries[0] as number, retries);
      return 0;
    }
    const dated = pool.isDated(entry);
    const time = pool.time(entry);
    let match = -1;
    let earliest = -1;
    let before = -1;
    let told = -1;
    for (let run = 0; run < runCount; run++) {
      if (runReceived[run] === 0) {
        if (runRetries[run] === retries) told = run;
        continue;
      }
      const inTime = dated ? (runTime[run] as number) <= time : (runArrival[run] as number) < at;
      if (runRetries[run] === retries) {
        if (earliest < 0) earliest = run;
        if (inTime) match = run;
      } else if (dated && inTime) before = run;
    }
    if (match >= 0) return match;
    if (earliest >= 0) return earliest;
    // The backend counts attempts only as far as we heard of them: a later run's end may carry a lower number.
    if (before >= 0 && retries < (runRetries[before] as number)) return before;
    // `received` was missed or never sent (events off): the backend's word opens the run.
    return told >= 0 ? told : setRun(runCount++, -Infinity, 0, retries, at);
  }

  function put(at: number, entry: number, run: number): void {
    runs[at] = run;
    const kind = pool.kind(entry);
    if (kind === KIND.STARTED && betterOf(runStarted[run] as number, entry)) runStarted[run] = entry;
    const top = runTop[run] as number;
    const topKind = top === 0 ? -1 : pool.kind(top);
    if (kind > topKind || (kind === topKind && betterOf(top, entry))) runTop[run] = entry;
  }

  /** Of two entries of the same kind: a worker's word goes before the backend's, then the later one. */
  function betterOf(old: number, entry: number): boolean {
    if (old === 0) return true;
    if (pool.isResult(old) !== pool.isResult(entry)) return pool.isResult(old);
    return pool.time(entry) >= pool.time(old);
  }

  function conclude(count: number): void {
    let current = -1;
    for (let run = 0; run < runCount; run++) if (current < 0 || isLater(run, current)) current = run;
    const sent = sentOf(entries, count);
    out.sent = sent.time;
    out.retries = -1;
    for (let at = 0; at < count; at++) {
      const retries = pool.retries(entries[at] as number);
      if (retries > out.retries) out.retries = retries;
    }
    out.received = Number.NaN;
    out.started = Number.NaN;
    out.finished = Number.NaN;
    out.worker = 0;
    out.state = 0;
    if (current < 0) {
      out.kind = KIND.SENT;
      out.timestamp = out.sent;
      return;
    }
    tellOf(current);
    // Sent again for another attempt, while the message that the last one ended was lost.
    const unfinished = out.kind < KIND.RETRIED && out.kind !== KIND.REVOKING;
    if (unfinished && sent.retries > Math.max(0, runRetries[current] as number)) {
      out.kind = KIND.RETRIED;
      if (!sent.isVague) out.timestamp = out.sent;
    }
  }

  function tellOf(run: number): void {
    const top = runTop[run] as number;
    out.kind = pool.kind(top);
    out.state = pool.state(top);
    // A moment is shown, sorted and paged by in whole milliseconds; within one, ids decide.
    out.timestamp = Math.floor(pool.time(top));
    out.worker = pool.worker(top) || (runWorker[run] as number) || workerOfRun(run);
    const hasEnded = out.kind >= KIND.REVOKED || out.kind === KIND.REVOKING;
    if (hasEnded && !pool.isVague(top)) out.finished = out.timestamp;
    const received = runReceived[run] as number;
    if (received !== 0) out.received = Math.floor(pool.time(received));
    const started = runStarted[run] as number;
    // The backend's STARTED has only a time of arrival, of use while nothing contradicts it.
    const isTimely = started !== 0 && !pool.isVague(started) && !(pool.time(started) > out.finished);
    if (started !== 0 && (pool.isDated(started) || isTimely)) {
      out.started = Math.floor(pool.time(started));
    }
  }

  /** Who spoke of it last. */
  function workerOfRun(run: number): number {
    let last = 0;
    for (let at = 0; at < out.count; at++) {
      const entry = entries[at] as number;
      if (runs[at] !== run || pool.worker(entry) === 0) continue;
      if (last === 0 || pool.time(entry) > pool.time(last)) last = entry;
    }
    return last === 0 ? 0 : pool.worker(last);
  }

  function isLater(run: number, other: number): boolean {
    const more = (runRetries[run] as number) - (runRetries[other] as number);
    if (more !== 0) return more > 0;
    return pool.time(runTop[run] as number) >= pool.time(runTop[other] as number);
  }
}
