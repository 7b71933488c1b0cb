import { isTraceId } from '../model.ts';
import { anything, count, date, listOf, maybe, nullable, number, record, shape, text } from './shape.ts';

/** The progress of a task. */
export const progress = record({
  current: nullable(number),
  total: nullable(number),
  percent: nullable(shape('a number from 0 to 100', (value) => Number(value) >= 0 && Number(value) <= 100)),
  text: nullable(text),
});

/** Fields of a task's own page, in addition to its children and timeline. */
export const DETAIL_FIELDS = {
  attempts: maybe(
    listOf(
      record({
        number: shape(
          'a whole number from 1 on',
          (value) => Number.isSafeInteger(value) && Number(value) >= 1,
        ),
        started: nullable(date),
        finished: nullable(date),
        error: nullable(text),
      }),
    ),
  ),
  options: anything,
  log: maybe(record({ lines: listOf(text), total: count })),
  timeLimits: maybe(record({ soft: maybe(count), hard: maybe(count) })),
  traceId: maybe(shape('32 lowercase hexadecimal digits, not all 0', isTraceId)),
};
