/** Sends requests to the monitor and records whether it responds. */
import { createMonitorClient } from '../../client.ts';
import { createStore } from '../store.ts';

/** Whether the monitor responds. */
export interface Connection {
  /** `refused`: the monitor responds, but denies access to this reader. */
  readonly state: 'connecting' | 'ok' | 'lost' | 'refused';
  /** Time of the latest response, in milliseconds since 1970. */
  readonly answeredAt: number | null;
}

/** State of the connection after the latest response. */
export const connection = createStore<Connection>({ state: 'connecting', answeredAt: null });

/** Path of the mount. The page is served at its root. */
export const base = new URL('.', location.href).pathname;

const watchedFetch: typeof fetch = async (input, init) => {
  try {
    const response = await fetch(input, init);
    connection.set(judge(response));
    return response;
  } catch (error) {
    if (init?.signal?.aborted !== true) lose();
    throw error;
  }
};

/** Marks the connection as lost. */
export function lose(): void {
  connection.set({ state: 'lost', answeredAt: connection.get().answeredAt });
}

function judge(response: Response): Connection {
  const { answeredAt } = connection.get();
  if (response.status === 401 || response.status === 403) return { state: 'refused', answeredAt };
  // A proxy whose server is down answers with its own error page.
  const isOurs = response.ok || /\bjson\b/.test(response.headers.get('content-type') ?? '');
  if (!isOurs && response.status >= 500) return { state: 'lost', answeredAt };
  const at = Date.now();
  const before = connection.get();
  // Update at most once a second, so that views are not rendered for every response.
  if (before.state === 'ok' && before.answeredAt !== null && at - before.answeredAt < 1_000) return before;
  return { state: 'ok', answeredAt: at };
}

/** The API client that all views use. */
export const client = createMonitorClient(base, { fetch: watchedFetch });
