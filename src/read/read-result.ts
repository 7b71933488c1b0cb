import type { SourcePart } from '../source.ts';
import type { SourceErrorCode } from '../wire.ts';

/** Facts about a read, in addition to the data. */
export interface ReadResult {
  /** Sources that failed while others answered, by name. */
  readonly failures: ReadonlyMap<string, Failure>;
  /** Items that were left out because they cannot be read, by the name of their source. */
  readonly leftOut: ReadonlyMap<string, number>;
  /** Name of the source that an item of the answer came from. */
  sourceOf(item: unknown): string;
}

/** The failure of one source. */
export interface Failure {
  readonly code: SourceErrorCode;
  /** When the data that is shown instead was read, in milliseconds since 1970; `null` when none is shown. */
  readonly asOf: number | null;
}

const NO_FAILURES: ReadResult['failures'] = new Map();
const NOTHING_LEFT_OUT: ReadResult['leftOut'] = new Map();

/** The read result of a part that is not combined. */
export function resultOf({ name }: SourcePart): ReadResult {
  return { failures: NO_FAILURES, leftOut: NOTHING_LEFT_OUT, sourceOf: () => name };
}
