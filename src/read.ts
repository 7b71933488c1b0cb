/**
 * The only way to call a source: with a deadline, shared by concurrent equal requests, with its errors mapped to
 * error codes and late results ignored.
 */

export { AWAY, type LastAnswer } from './read/fan-out.ts';
export {
  errorOf,
  type Freshness,
  freshnessAway,
  freshnessBetween,
  freshnessOf,
  hasData,
  isStillFresh,
  type ReadResult,
} from './read/freshness.ts';
export { createReader, type Reader } from './read/reader.ts';
export { createReport, type Report } from './read/report.ts';
/** `CLIENT_GONE` is the rejection of a client that has disconnected. */
export { type OnLeave, WAITER_LEFT as CLIENT_GONE } from './single-flight.ts';
