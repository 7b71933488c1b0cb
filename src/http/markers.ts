/** Calls the host's `markers` with limits, and checks the result. */
import { MonitorError } from '../errors.ts';
import type { Markers } from '../options.ts';
import type { Report } from '../read.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import { isoTime, shorten, wellFormed } from '../serialize/shown-values.ts';
import type { TaskStatsQuery } from '../source.ts';
import { isWebLink } from '../text.ts';
import { waitFor } from '../waiting.ts';
import type { MarkerBody } from '../wire.ts';

/** The currently known markers, oldest first. Resolves within a second, never rejects. */
export type ReadMarkers = () => Promise<readonly MarkerBody[]>;

/** Minimum time between two calls, in milliseconds. */
const HOLD_MS = 10_000;
/** Longest time to wait for an answer, in milliseconds. */
const WAIT_MS = 1_000;
/** A call without an answer is abandoned after this many milliseconds. */
const GIVE_UP_MS = 60_000;

const MOST_MARKERS = 500;
/** Maximum number of markers that are examined, and maximum length of their texts. */
const MOST_GIVEN = 10_000;
const LONGEST_GIVEN = 2_048;
const LONGEST_TEXT = 200;
/** Number of newest markers that are listed regardless of the window. */
const NEWEST = 5;

/**
 * Calls the host's function on request, at most once in {@link HOLD_MS}.
 *
 * @param markers `null`: there are none
 * @param redact removes secrets from a text
 */
export function createMarkers(
  markers: Markers | null,
  report: Report,
  redact: (text: string) => string,
): ReadMarkers {
  let known: readonly MarkerBody[] = [];
  let calledAt = Number.NEGATIVE_INFINITY;
  let isPending = false;
  let pending = Promise.resolve();
  if (markers === null) return async () => known;
  const read = markers;

  async function call(): Promise<void> {
    const at = calledAt;
    try {
      const found = await scheduler.run('markers', markerBodies(await read(), redact));
      // A later call may already have been answered.
      if (at === calledAt) known = found;
    } catch (error) {
      report(error, { code: 'source_invalid', source: null, call: 'markers' });
    }
    if (at === calledAt) isPending = false;
  }

  function reportSlow(): void {
    const error = new MonitorError('source_timeout', `markers() did not answer within ${WAIT_MS} ms.`);
    report(error, { code: error.code, source: null, call: 'markers' });
  }

  return async function readMarkers() {
    const since = performance.now() - calledAt;
    if (since >= (isPending ? GIVE_UP_MS : HOLD_MS)) {
      calledAt = performance.now();
      isPending = true;
      pending = call();
    }
    const left = WAIT_MS - (performance.now() - calledAt);
    if (isPending && left > 0) {
      await waitFor(pending, { ms: left });
      if (isPending) reportSlow();
    }
    return known;
  };
}

/** The newest markers, oldest first. Unreadable ones are left out. @throws whatever reading the list throws */
function* markerBodies(given: unknown, redact: (text: string) => string): Steps<readonly MarkerBody[]> {
  if (!Array.isArray(given)) throw new TypeError('markers() must return an array.');
  const found: FoundMarker[] = [];
  for (const item of given.slice(0, MOST_GIVEN) as readonly unknown[]) {
    const marker = readMarker(item);
    if (marker !== null) found.push(marker);
    yield;
  }
  const bodies: MarkerBody[] = [];
  for (const { at, text, url } of found.sort((a, b) => a.time - b.time).slice(-MOST_MARKERS)) {
    bodies.push({ at, text: shorten(wellFormed(redact(text)), LONGEST_TEXT), url: linkOf(url, redact) });
    yield;
  }
  return bodies;
}

interface FoundMarker extends MarkerBody {
  /** Milliseconds since 1970. */
  readonly time: number;
}

/** `null` for anything without a time and a text, and if reading it throws. */
function readMarker(item: unknown): FoundMarker | null {
  try {
    const { at, text, url } = item as Readonly<Record<'at' | 'text' | 'url', unknown>>;
    const date = at instanceof Date ? at : new Date(typeof at === 'string' ? at.slice(0, 40) : Number(at));
    const iso = isoTime(date);
    if (iso === null || typeof text !== 'string' || text.trim() === '') return null;
    return {
      at: iso,
      time: date.getTime(),
      text: text.slice(0, LONGEST_GIVEN),
      url: isWebLink(url) ? url : null,
    };
  } catch {
    return null;
  }
}

/** A link that contains a secret is left out: without the secret it would lead elsewhere. */
function linkOf(url: string | null, redact: (text: string) => string): string | null {
  return url === null || redact(url) !== url ? null : wellFormed(url);
}

/** The markers in statistics: those in their window, and the newest ones before its end. */
export function markersIn(
  markers: readonly MarkerBody[],
  { minutes, now }: Pick<TaskStatsQuery, 'minutes' | 'now'>,
): MarkerBody[] {
  const start = now.getTime() - minutes * 60_000;
  return markers.filter(({ at }, index) => {
    const time = Date.parse(at);
    return index >= markers.length - NEWEST || (time >= start && time <= now.getTime());
  });
}
