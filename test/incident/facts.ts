/** What is true of an incident, as those who caused it say. Every answer that the page gives is compared with it. */

/** Times are milliseconds since 1970. */
export interface Facts {
  /** A full minute, at which a new version goes live. */
  readonly deploy: number;
  /** What the marker of the deploy says. */
  readonly marker: string;
  /** Whether the period before the deploy is shorter than the one that the page shows at first. */
  readonly isShort: boolean;
  /** What the verdict must name. */
  readonly problems: readonly string[];
  /** The name that became slow, and by what factor its p95 rose. */
  readonly slow: string;
  readonly slowdown: number;
  /** The name that fails since the deploy, and how often by class of the exception. */
  readonly failing: string;
  readonly failures: Readonly<Record<string, number>>;
  /** The queue that nobody works off, how much waits there, and for how long the first of it has. */
  readonly queue: string;
  readonly waiting: number;
  readonly dueSince: number;
  /** The worker that hangs, what holds its slots, and since when. */
  readonly worker: string;
  readonly hung: string;
  readonly hungSince: number;
  readonly slots: number;
  /** The order whose payment failed, why, all tasks that have its number, and what its app did then. */
  readonly order: string;
  readonly why: readonly string[];
  readonly orderTasks: readonly string[];
  readonly next: string;
  /** An entry of the schedule. `runs`: how often its task has run by now. */
  readonly schedule: { readonly name: string; readonly task: string; readonly runs: () => Promise<number> };
}

/** What 95 % of these do not exceed. */
export function p95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN;
}
