/** Bodies that describe why tasks fail. */
import type { Integer, Timestamp } from './common.ts';

/** Failures with one cause. */
export interface StatsCauseBody {
  /** As in `cause` of a task. It is the same on every instance, and after a restart. */
  cause: string;
  /** Name of the exception's class. */
  exception: string | null;
  /** The message, with `<number>`, `<id>`, `<address>` and `<value>` in place of the parts that differ. */
  message: string | null;
  /** The innermost frame of the traceback, such as `charge.py in capture`. */
  frame: string | null;
  count: Integer;
  /** The first failure with this cause that is known at all. */
  first_seen: Timestamp | null;
  /** The last failure in the window. */
  last_seen: Timestamp | null;
  /** The most frequent task names, at most 20. */
  names: string[];
  /** The most frequent workers, at most 20. */
  workers: string[];
  /** `task_id` of the last failure; `null` if no task is known any more. */
  sample: string | null;
  /** Whether `first_seen` is in the window; `null` if the history does not reach back far enough before it. */
  is_new: boolean | null;
  /** Failures in each step of `series`. */
  activity: Integer[];
}
