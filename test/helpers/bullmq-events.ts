import type { BullMQSources } from '../../src/bullmq.ts';
import type { TaskEvent } from '../../src/model.ts';
import type { TaskEventPage, TaskEventQuery } from '../../src/source.ts';
import { context } from './bullmq-read.ts';

export async function feed(
  sources: BullMQSources,
  part: Partial<TaskEventQuery> = {},
): Promise<TaskEventPage> {
  const query = { limit: 1_000, since: null, states: [], workers: [], tasks: [], ...part };
  return sources.events.listEvents(query, context);
}

/** The cursor after all events. */
export async function cursorOf(sources: BullMQSources): Promise<string> {
  return (await feed(sources, { limit: 1 })).cursor;
}

/** The items after a cursor, oldest first, requested in pages of this size until none is left. */
export async function follow(
  sources: BullMQSources,
  since: NonNullable<TaskEventQuery['since']>,
  part: Partial<TaskEventQuery> = {},
): Promise<{ events: TaskEvent[]; gaps: number; cursor: string }> {
  const events: TaskEvent[] = [];
  let gaps = 0;
  let place: NonNullable<TaskEventQuery['since']> = since;
  for (;;) {
    const page = await feed(sources, { ...part, since: place });
    events.push(...page.events.toReversed());
    gaps += page.gap ? 1 : 0;
    const isSame = 'cursor' in place && place.cursor === page.cursor;
    place = { cursor: page.cursor };
    if (page.events.length === 0 && (isSame || gaps > 0)) return { events, gaps, cursor: page.cursor };
  }
}
