import type { CollectedHistory } from '../../../history/history.ts';
import type { WorkerHealthCheck } from '../../../model.ts';
import type { Replies } from './broadcast.ts';
import type { Control } from './control.ts';

/** How long the answers to a ping are reused, in milliseconds. */
const REUSE = 1000;

const NOBODY = 'No worker has answered a ping.';

/**
 * Checks the workers by a ping. A worker that has never answered one (`worker_enable_remote_control` is
 * off) is judged by its heartbeats.
 *
 * @returns a function that resolves to `null` when the workers could not be asked; heartbeats decide then
 */
export function createPing(control: Control, history: CollectedHistory) {
  /** Workers that have ever answered; those that the history has forgotten are removed. */
  const answerers = new Set<string>();
  let last: Replies | null = null;

  async function ask(signal: AbortSignal | undefined): Promise<Replies | null> {
    const replies = await control.ask('ping', {
      maxAgeMs: REUSE,
      ...(signal === undefined ? {} : { signal }),
    });
    if (replies === null || replies === last) return replies;
    last = replies;
    const time = Date.now();
    for (const hostname of replies.values.keys()) {
      answerers.add(hostname);
      history.writer.recordWorker({ hostname, type: 'reply', time });
    }
    return replies;
  }

  return async function pingWorkers(signal?: AbortSignal): Promise<WorkerHealthCheck | null> {
    const replies = await ask(signal);
    if (replies === null) return null;
    const { responding: beating, missing: silent } = history.index.checkWorkers();
    const responding = new Set(replies.values.keys());
    const missing = new Set<string>();
    for (const name of beating) if (!answerers.has(name)) responding.add(name);
    for (const name of [...beating, ...silent]) if (!responding.has(name)) missing.add(name);
    for (const name of answerers) if (!missing.has(name) && !responding.has(name)) answerers.delete(name);
    const ok = responding.size + replies.unnamed > 0;
    return {
      ok,
      error: ok ? null : NOBODY,
      responding: [...responding].sort(),
      missing: [...missing].sort(),
    };
  };
}
