/** One activity feed of several sources. */
import type { TaskEvent } from '../model.ts';
import { type FanOut, fanOutOf, type Reply } from '../source/combined-part.ts';
import { isTaskEventPage } from '../source/pages.ts';
import type { ReadContext, TaskEventPage, TaskEventQuery, TaskEventSource } from '../source.ts';
import { type Lane, mergeLanes, type Placed } from './lane.ts';
import { answerOf, requireAnswer } from './replies.ts';

/** Where one part goes on: its own cursor, or milliseconds since 1970. */
type Standing = string | number;

/** `null`: its newest items. */
type Start = Standing | null;

/** When an item came, and for those of one moment which part it is of. */
interface Place {
  readonly at: number;
  readonly part: number;
}

/** What one part has given. */
interface EventLane extends Lane<TaskEvent, Place> {
  readonly part: TaskEventSource;
  /** Among the parts. */
  readonly index: number;
  readonly start: Start;
  /** `null`: it has not answered. */
  readonly page: TaskEventPage | null;
}

/**
 * Answers `listEvents` from several sources. Each goes on from its own place, which the cursor holds; a part
 * that does not answer keeps its place, or begins at this moment once it is back.
 */
export async function listAllEvents(
  parts: readonly TaskEventSource[],
  query: TaskEventQuery,
  context: ReadContext,
): Promise<TaskEventPage> {
  const fanOut = fanOutOf(context);
  const askedAt = Date.now();
  const { starts, isLost } = startsOf(query.since, parts);
  const lanes = await Promise.all(
    parts.map((part, index) => laneOf({ part, index, start: starts[index] ?? null }, query, fanOut)),
  );
  requireAnswer(lanes.map(({ reply }) => reply));
  const settled = await settle(lanes, query, fanOut);
  const { items } = mergeLanes(settled, query.limit, order(query));
  const listed = query.since === null ? items : items.toReversed();
  const standings = settled.map(
    ({ part, page, start }) => [part.name, page?.cursor ?? start ?? askedAt] as const,
  );
  return {
    events: listed.map(({ item, lane }) => fanOut.attribute(item, parts[lane] as TaskEventSource)),
    cursor: JSON.stringify(Object.fromEntries(standings)),
    gap: isLost || settled.some(({ page }) => page?.gap === true),
  };
}

/** The newest first without `since`, the oldest first with it; each the other way round. */
function order({ since }: TaskEventQuery): (a: Place, b: Place) => number {
  const sign = since === null ? -1 : 1;
  return (a, b) => sign * (a.at === b.at ? a.part - b.part : a.at < b.at ? -1 : 1);
}

async function laneOf(
  { part, index, start }: Pick<EventLane, 'part' | 'index' | 'start'>,
  query: TaskEventQuery,
  fanOut: FanOut,
  limit = query.limit,
): Promise<EventLane & { readonly reply: Reply<TaskEventPage> }> {
  const asked: TaskEventQuery = Object.freeze({ ...query, limit, since: sinceOf(start) });
  const reply = await fanOut.ask<TaskEventPage>({
    part,
    call: 'listEvents',
    which: `${limit}`,
    read: (context) => part.listEvents(asked, context),
    count(page) {
      if (!isTaskEventPage(page)) throw new TypeError('listEvents() must return { events, cursor, gap }.');
      return page.events.length;
    },
  });
  const page = answerOf(reply);
  const lane = { part, index, start, reply, rest: null };
  if (page === null) return { ...lane, page, items: [] };
  // The oldest ones of too many: the cursor lies behind the newest, so what is left out there is a gap.
  const events = start === null ? page.events.slice(0, limit) : page.events.slice(-limit).toReversed();
  const gap = page.gap || (start !== null && page.events.length > limit);
  return { ...lane, page: { ...page, gap }, items: placed(events, index, start === null) };
}

/** A part's own order stands: an item without a time, or with one out of order, is placed at its neighbour. */
function placed(
  events: readonly TaskEvent[],
  part: number,
  isNewestFirst: boolean,
): readonly Placed<TaskEvent, Place>[] {
  let at = isNewestFirst ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  return events.map((item) => {
    const time = timeOf(item);
    if (time !== null) at = isNewestFirst ? Math.min(at, time) : Math.max(at, time);
    return { item, place: { at, part } };
  });
}

function timeOf(event: TaskEvent): number | null {
  try {
    const time = (event.arrived ?? event.timestamp)?.getTime() ?? Number.NaN;
    return Number.isNaN(time) ? null : time;
  } catch {
    return null;
  }
}

/**
 * A part of which only the first items find room is asked again for these alone: its cursor is then behind
 * them. The newest items need no such care, for what finds no room is older and is not gone on with.
 */
async function settle(
  lanes: readonly EventLane[],
  query: TaskEventQuery,
  fanOut: FanOut,
): Promise<readonly EventLane[]> {
  if (query.since === null) return lanes;
  const { taken } = mergeLanes(lanes, query.limit, order(query));
  return Promise.all(
    lanes.map(async (lane): Promise<EventLane> => {
      const count = taken[lane.index] as number;
      if (count === lane.items.length) return lane;
      // Nothing of it is listed: it goes on from where it stands, as if it had not been asked.
      return count === 0 ? { ...lane, items: [], page: null } : laneOf(lane, query, fanOut, count);
    }),
  );
}

function sinceOf(start: Start): TaskEventQuery['since'] {
  if (start === null) return null;
  return typeof start === 'string' ? { cursor: start } : { time: new Date(start) };
}

/** Where each part stands; one that the cursor does not tell of begins with all that it holds. */
function startsOf(
  since: TaskEventQuery['since'],
  parts: readonly TaskEventSource[],
): { readonly starts: readonly Start[]; readonly isLost: boolean } {
  if (since === null) return { starts: parts.map(() => null), isLost: false };
  if ('time' in since) return { starts: parts.map(() => since.time.getTime()), isLost: false };
  const told = readCursor(since.cursor);
  const known = parts.map(({ name }) => {
    const standing = Object.hasOwn(told, name) ? told[name] : undefined;
    return typeof standing === 'string' || isMoment(standing) ? standing : null;
  });
  return { starts: known.map((standing) => standing ?? 0), isLost: known.includes(null) };
}

function isMoment(value: unknown): value is number {
  return typeof value === 'number' && !Number.isNaN(new Date(value).getTime());
}

/** A client has had it in its hands: it may be anything. */
function readCursor(cursor: string): Readonly<Record<string, unknown>> {
  try {
    const told: unknown = JSON.parse(cursor);
    return typeof told === 'object' && told !== null ? (told as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
