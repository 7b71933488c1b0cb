/** Asks the monitor, and keeps book on whether it answers. */
import { createMonitorClient } from '../../client.ts';
import { createStore } from '../store.ts';

export interface Connection {
  /** `refused`: it answers, but not to this reader. */
  readonly state: 'connecting' | 'ok' | 'lost' | 'refused';
  /** When it last answered, in milliseconds since 1970. */
  readonly answeredAt: number | null;
}

export const connection = createStore<Connection>({ state: 'connecting', answeredAt: null });

/** The mount's own path: the page lies at its root. */
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

/** Says that nothing comes any more. */
export function lose(): void {
  connection.set({ state: 'lost', answeredAt: connection.get().answeredAt });
}

function judge(response: Response): Connection {
  const { answeredAt } = connection.get();
  if (response.status === 401 || response.status === 403) return { state: 'refused', answeredAt };
  // A proxy whose server is gone answers for itself.
  const isOurs = response.ok || /\bjson\b/.test(response.headers.get('content-type') ?? '');
  if (!isOurs && response.status >= 500) return { state: 'lost', answeredAt };
  const at = Date.now();
  const before = connection.get();
  // Once a second is often enough for whoever shows it.
  if (before.state === 'ok' && before.answeredAt !== null && at - before.answeredAt < 1_000) return before;
  return { state: 'ok', answeredAt: at };
}

export const client = createMonitorClient(base, { fetch: watchedFetch });
