/** The lane of a set of few jobs, whatever order Redis has them in: it is read and sorted. */

import { asScored, asTexts } from '../../../redis/replies.ts';
import { comparePositions } from '../../../select/task-order.ts';
import { isMarker, type JobSet } from '../job-sets.ts';
import type { QueueRef } from '../queue-ref.ts';
import { type Lane, type LaneRange, type LaneRow, MOST_AT_ONCE, type Place, readRows } from './lane.ts';

/** A set that has grown since it was counted is read to here. */
const MARGIN = 200;

/** Every page goes on by time and id alone. */
export function* smallLane(queue: QueueRef, set: JobSet, { order, after }: LaneRange): Lane {
  const key = queue.key(set.part);
  const last = String(MOST_AT_ONCE + MARGIN - 1);
  const [reply] = yield {
    ask: [
      {
        queue,
        command: set.kind === 'list' ? ['LRANGE', key, '0', last] : ['ZRANGE', key, '0', last, 'WITHSCORES'],
      },
    ],
  };
  const found =
    set.kind === 'list'
      ? [...new Set(asTexts(reply))].filter((id) => !isMarker(id)).map((id) => ({ id, score: null }))
      : asScored(reply).map(({ member, score }) => ({ id: member, score }));
  const rows = yield* readRows(queue, set, found);
  yield {
    rows: rows
      .filter((row) => after === null || comparePositions(placeOf(row), after, order) > 0)
      .sort((a, b) => comparePositions(placeOf(a), placeOf(b), order)),
  };
}

function placeOf({ key, taskId }: LaneRow): Place {
  return { key, id: taskId };
}
