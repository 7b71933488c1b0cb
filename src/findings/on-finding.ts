/** What the host is told of findings. */
import type { FindingBody } from '../wire.ts';

/** A finding as the host is told of it: as the API serves it, without secrets. Frozen. */
export interface FindingNotice extends Readonly<FindingBody> {
  /** 16 hexadecimal digits: the same whenever the host is told of this code, source and subject. */
  readonly id: string;
  /** `cleared`: it is no longer found. The other fields are then those of before, with the worst severity told. */
  readonly status: 'raised' | 'cleared';
}

/** What else `onFinding` gets. */
export interface FindingContext {
  /** Where to look, as an absolute URL; `null`: the option `publicUrl` is none. */
  readonly link: string | null;
}

/**
 * Called once when something is found, once more if it becomes critical, and once when it is gone; at most once a
 * minute for each finding. What lasts for less than 10 seconds is not told. A call that throws, rejects or takes longer
 * than 30 seconds is reported to `onError` and repeated after a minute, up to 5 calls in all.
 *
 * With a `store`, one of the instances that share it calls for all. Without, each instance calls, and again after a
 * restart.
 */
export type OnFinding = (finding: FindingNotice, context: FindingContext) => unknown;
