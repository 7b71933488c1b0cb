/** How findings are reported to the host. */
import type { FindingBody } from '../wire.ts';

/** A reported finding, in the form in which the API serves it, without secrets. Frozen. */
export interface FindingNotice extends Readonly<FindingBody> {
  /** 16 hexadecimal digits: always the same for the same code, source and subject. */
  readonly id: string;
  /** `cleared`: it is no longer found. The other fields keep their values, with the worst reported severity. */
  readonly status: 'raised' | 'cleared';
}

/** Further information for `onFinding`. */
export interface FindingContext {
  /** Where to look, as an absolute URL; `null`: the option `publicUrl` is not a URL. */
  readonly link: string | null;
}

/**
 * Called once when a problem is found, again if it becomes critical, and once when it is gone; at most once a
 * minute for each finding. Problems that last for less than 10 seconds are not reported. A call that throws, rejects or
 * takes longer than 30 seconds is reported to `onError` and repeated after a minute, up to 5 calls in all.
 *
 * With a `store`, one of the instances that share it makes all calls; after another one has taken over, a call may come
 * again, with the same `id` and `status`. Without a store, each instance calls, and calls again after a restart.
 */
export type OnFinding = (finding: FindingNotice, context: FindingContext) => unknown;
