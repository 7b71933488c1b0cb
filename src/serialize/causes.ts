/** Failures by cause, as statistics show them. */
import { type CauseGroup, MOST_CAUSES } from '../causes/cause-groups.ts';
import type { TaskStats } from '../source.ts';
import type { StatsCauseBody, TaskStatsBody } from '../wire.ts';
import { type Given, rows } from './body-rows.ts';
import { isoTime } from './moments.ts';
import { label, labels, whole } from './scalars.ts';
import type { ShowText } from './shown-text.ts';

const MOST_STEPS = 1_500;
const MOST_OF_CAUSE = 20;

/** The requested members that not every source has. */
export function causesBody(
  { causes, causesTruncated }: Given<TaskStats>,
  show: ShowText,
): Pick<TaskStatsBody, 'causes' | 'causes_truncated'> {
  if (!Array.isArray(causes)) return {};
  return {
    causes: rows<CauseGroup, StatsCauseBody>(causes, MOST_CAUSES, (given) => causeBody(given, show)),
    causes_truncated: causesTruncated === true || causes.length > MOST_CAUSES,
  };
}

function causeBody(given: Given<CauseGroup>, show: ShowText): StatsCauseBody | null {
  const cause = label(given.id);
  if (cause === null) return null;
  const { isNew, activity } = given;
  return {
    cause,
    exception: show(given.exception, 'exception').text,
    message: show(given.message, 'exception').text,
    frame: show(given.frame, 'traceback').text,
    count: whole(given.count) ?? 0,
    first_seen: isoTime(given.firstSeen),
    last_seen: isoTime(given.lastSeen),
    names: (labels(given.names) ?? []).slice(0, MOST_OF_CAUSE),
    workers: (labels(given.workers) ?? []).slice(0, MOST_OF_CAUSE),
    sample: label(given.sample),
    is_new: typeof isNew === 'boolean' ? isNew : null,
    activity: Array.isArray(activity) ? activity.slice(0, MOST_STEPS).map((count) => whole(count) ?? 0) : [],
  };
}
