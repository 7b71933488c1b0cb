import { nullable, number, record, shape, text } from './shape.ts';

/** The progress of a task. */
export const progress = record({
  current: nullable(number),
  total: nullable(number),
  percent: nullable(shape('a number from 0 to 100', (value) => Number(value) >= 0 && Number(value) <= 100)),
  text: nullable(text),
});
