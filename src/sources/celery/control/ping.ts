import type { CollectedHistory } from '../../../history/history.ts';
import type { WorkerHealthCheck } from '../../../model.ts';
import type { Replies } from './broadcast.ts';
import type { Control } from './control.ts';

/** Milliseconds for which a ping's answers serve whoever asks next. */
const REUSE = 1000;

const NOBODY = 'No worker has answered a ping.';

/**
 * Checks the workers by a ping. One that has never answered any (`worker_enable_remote_control` is off
 * there) is judged by its heartbeats.
 *
 * @returns a function that answers `null` when they could not be asked; judge them by heartbeats then
 */
export function createPing(control: Control, history: CollectedHistory) {
  /** Who has ever answered: as many as the history holds workers, which forgets the oldest. */
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
