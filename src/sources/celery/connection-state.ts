import type { SourceStatus } from '../../source.ts';
import type { Problem } from './problem.ts';

/** How a connection to a broker or a result backend is doing. Times in milliseconds since 1970. */
export interface ConnectionState {
  readonly up: boolean;
  /** When the connection was last known to work; `null` if it never did. */
  readonly asOf: number | null;
  /** Since when the connection has been up; `null` while it is down. */
  readonly since: number | null;
  /** How often it was re-established after it had been lost. */
  readonly reconnects: number;
  /** Why it is down; `null` while it is up, or before the first attempt has ended. */
  readonly problem: Problem | null;
}

/**
 * The status of data that several connections deliver. While one of them is down, the data stays visible
 * and is as fresh as the connection that was lost first.
 */
export function statusOfConnections(
  states: readonly ConnectionState[],
): Pick<SourceStatus, 'ok' | 'asOf' | 'error' | 'reason'> {
  const ok = states.every(({ up }) => up);
  const times = states.flatMap(({ asOf }) => asOf ?? []);
  const asOf = times.length === 0 ? null : new Date(Math.min(...times));
  const reason = states.find(({ problem }) => problem !== null)?.problem?.sentence ?? null;
  return { ok, asOf, error: ok ? null : 'source_unavailable', reason };
}
