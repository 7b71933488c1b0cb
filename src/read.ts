/**
 * The one way to call a source: with a deadline, shared by all who ask the same, its failures mapped to our
 * codes, its late answers ignored.
 */
export { AWAY, type LastAnswer } from './read/fan-out.ts';
export {
  errorOf,
  type Freshness,
  freshnessAway,
  freshnessBetween,
  freshnessOf,
  hasData,
} from './read/freshness.ts';
export type { ReadResult } from './read/read-result.ts';
export type { Reader, ReaderOptions, ReadTask } from './read/read-task.ts';
export { createReader } from './read/reader.ts';
export { createReport, type Report } from './read/report.ts';
export { CLIENT_GONE, type OnLeave } from './read/shared-read.ts';
