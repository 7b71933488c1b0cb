/** The shape of statistics. */
import { CAUSE_FIGURES } from './cause-shapes.ts';
import {
  boolean,
  count,
  countsByName,
  date,
  filled,
  listOf,
  maybe,
  nullable,
  number,
  oneOf,
  optional,
  record,
  type Shape,
  shape,
} from './shape.ts';

const PERCENTILES = {
  runtimeP50: maybe(number),
  runtimeP95: maybe(number),
  runtimeP99: maybe(number),
  waitP50: maybe(number),
  waitP95: maybe(number),
  waitP99: maybe(number),
};
const CALLERS = optional(nullable(listOf(record({ name: filled, count }))));
const HISTOGRAM = listOf(record({ le: nullable(number), count }));

/** What `getTaskStats` returns. */
export const TASK_STATS: Shape = record({
  stepSeconds: shape('a number above zero', (value) => Number.isFinite(value) && Number(value) > 0),
  series: listOf(
    record({
      t: date,
      received: maybe(count),
      succeeded: maybe(count),
      failed: maybe(count),
      retried: maybe(count),
      ...PERCENTILES,
    }),
  ),
  totals: optional(
    record({
      since: maybe(date),
      received: nullable(count),
      succeeded: nullable(count),
      failed: nullable(count),
      retried: nullable(count),
      ...PERCENTILES,
    }),
  ),
  runtimeHistogram: optional(HISTOGRAM),
  waitHistogram: optional(HISTOGRAM),
  states: countsByName,
  names: listOf(
    record({
      name: filled,
      count,
      failed: count,
      runtimeP50: nullable(number),
      runtimeP95: nullable(number),
      waitP50: nullable(number),
      waitP95: nullable(number),
    }),
  ),
  workers: listOf(filled),
  queues: listOf(filled),
  callers: CALLERS,
  callees: CALLERS,
  ...CAUSE_FIGURES,
  computedFrom: optional(oneOf('tasks', 'rollups')),
  countedSince: optional(nullable(date)),
  queueDepths: optional(
    listOf(
      record({
        queue: filled,
        waiting: listOf(nullable(count)),
        oldestSeconds: listOf(nullable(number)),
        sent: optional(listOf(nullable(count))),
        received: optional(listOf(nullable(count))),
        growingSince: maybe(date),
        oldestAtLeast: optional(boolean),
      }),
    ),
  ),
});
