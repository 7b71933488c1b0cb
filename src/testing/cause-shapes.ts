/** The shape of the causes that sources report. */
import { boolean, count, date, filled, listOf, nullable, optional, record, text } from './shape.ts';

const FIELDS = { id: filled, exception: nullable(text), message: nullable(text), frame: nullable(text) };

/** Why a task failed. */
export const taskCause = record(FIELDS);

/** The figures about causes in statistics: groups of failures. */
export const CAUSE_FIGURES = {
  causes: optional(
    listOf(
      record({
        ...FIELDS,
        count,
        firstSeen: nullable(date),
        lastSeen: nullable(date),
        names: listOf(filled),
        workers: listOf(filled),
        sample: nullable(filled),
        isNew: nullable(boolean),
        activity: listOf(count),
      }),
    ),
  ),
  causesTruncated: optional(boolean),
};
