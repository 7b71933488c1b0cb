/** One activity feed of several sources. */
import { readMark, writeMark } from '../cursor.ts';
import type { TaskEvent } from '../model.ts';
import { type FanOut, fanOutOf, type Reply } from '../source/combined-part.ts';
import { isTaskEventPage } from '../source/task-query.ts';
import type { ReadContext, TaskEventPage, TaskEventQuery, TaskEventSource } from '../source.ts';
import { isTime, recordOf } from '../values.ts';
import { answerOf, mergeItems, type Positioned, requireAnswer, type SortedItems } from './merge-items.ts';

const KIND = 'combinedfeed';

/**
 * Where the feed of one part continues: at its own cursor, or at a time in milliseconds since 1970. `null`: its newest
 * items.
 */
type Start = string | number | null;

/** When an item arrived; items of the same time are sorted by the index of their part. */
interface EventPosition {
  readonly at: number;
  readonly part: number;
}

/** The items of one part. */
interface PartEvents extends SortedItems<TaskEvent, EventPosition> {
  readonly part: TaskEventSource;
  /** Among the parts. */
  readonly index: number;
  readonly start: Start;
  /** `null`: it did not answer. */
  readonly page: TaskEventPage | null;
}

/**
 * Answers `listEvents` from several sources. The cursor contains a position for each part. A part that does not
 * answer keeps its position; without one, it begins at the time of this read when it is back.
 */
export async function listAllEvents(
  parts: readonly TaskEventSource[],
  query: TaskEventQuery,
  context: ReadContext,
): Promise<TaskEventPage> {
  const fanOut = fanOutOf(context);
  const askedAt = Date.now();
  const { starts, isLost } = startsOf(query.since, parts);
  const read = await Promise.all(
    parts.map((part, index) => eventsOf({ part, index, start: starts[index] ?? null }, query, fanOut)),
  );
  requireAnswer(read.map(({ reply }) => reply));
  const settled = await settle(read, query, fanOut);
  const { items } = mergeItems(settled, query.limit, order(query));
  const listed = query.since === null ? items : items.toReversed();
  const positions = settled.map(
    ({ part, page, start }) => [part.name, page?.cursor ?? start ?? askedAt] as const,
  );
  return {
    events: listed.map(({ item, part }) => fanOut.attribute(item, parts[part] as TaskEventSource)),
    cursor: writeMark(KIND, [Object.fromEntries(positions)]),
    gap: isLost || settled.some(({ page }) => page?.gap === true),
  };
}

/** Newest first without `since`, oldest first with it. */
function order({ since }: TaskEventQuery): (a: EventPosition, b: EventPosition) => number {
  const sign = since === null ? -1 : 1;
  return (a, b) => sign * (a.at === b.at ? a.part - b.part : a.at < b.at ? -1 : 1);
}

async function eventsOf(
  { part, index, start }: Pick<PartEvents, 'part' | 'index' | 'start'>,
  query: TaskEventQuery,
  fanOut: FanOut,
  limit = query.limit,
): Promise<PartEvents & { readonly reply: Reply<TaskEventPage> }> {
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
  const common = { part, index, start, reply, rest: null };
  if (page === null) return { ...common, page, items: [] };
  // Of too many items the oldest are left out. The cursor is after the newest, so they are a gap.
  const events = start === null ? page.events.slice(0, limit) : page.events.slice(-limit).toReversed();
  const gap = page.gap || (start !== null && page.events.length > limit);
  return { ...common, page: { ...page, gap }, items: withPositions(events, index, start === null) };
}

/** Keeps the order of the part: an item without a time, or out of order, gets the time of its neighbour. */
function withPositions(
  events: readonly TaskEvent[],
  part: number,
  isNewestFirst: boolean,
): readonly Positioned<TaskEvent, EventPosition>[] {
  let at = isNewestFirst ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  return events.map((item) => {
    const time = timeOf(item);
    if (time !== null) at = isNewestFirst ? Math.min(at, time) : Math.max(at, time);
    return { item, position: { at, part } };
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
 * Asks a part again when only some of its items are listed, for exactly these: its cursor is then after them.
 * Without `since` this is not needed: the items that are not listed are older, and nobody continues with them.
 */
async function settle(
  parts: readonly PartEvents[],
  query: TaskEventQuery,
  fanOut: FanOut,
): Promise<readonly PartEvents[]> {
  if (query.since === null) return parts;
  const { taken } = mergeItems(parts, query.limit, order(query));
  return Promise.all(
    parts.map(async (part): Promise<PartEvents> => {
      const count = taken[part.index] as number;
      if (count === part.items.length) return part;
      // None of its items are listed: it keeps its position, as if it had not been asked.
      return count === 0 ? { ...part, items: [], page: null } : eventsOf(part, query, fanOut, count);
    }),
  );
}

function sinceOf(start: Start): TaskEventQuery['since'] {
  if (start === null) return null;
  return typeof start === 'string' ? { cursor: start } : { time: new Date(start) };
}

/** The position of each part; one that the cursor does not name begins with its oldest items. */
function startsOf(
  since: TaskEventQuery['since'],
  parts: readonly TaskEventSource[],
): { readonly starts: readonly Start[]; readonly isLost: boolean } {
  if (since === null) return { starts: parts.map(() => null), isLost: false };
  if ('time' in since) return { starts: parts.map(() => since.time.getTime()), isLost: false };
  // Clients can change a cursor, so its shape is unknown.
  const positions = recordOf(readMark(KIND, since.cursor)?.[0]) ?? {};
  const known = parts.map(({ name }) => {
    const position = Object.hasOwn(positions, name) ? positions[name] : undefined;
    return typeof position === 'string' || isTime(position) ? position : null;
  });
  return { starts: known.map((position) => position ?? 0), isLost: known.includes(null) };
}
