/** The component that shows how the store of a history is doing. */
import type { Component } from '../model.ts';
import type { ComponentSource } from '../source.ts';
import type { StoredHistory, StoreStatus } from './stored-history.ts';

/** Key of the component within its source. */
export const STORE_COMPONENT = 'history.store';

/** Adds the store of a source to its components. */
export function withStoreComponent(
  part: ComponentSource,
  history: Pick<StoredHistory, 'status'>,
): ComponentSource {
  return {
    ...part,
    async listComponents(context) {
      const components = await part.listComponents(context);
      return [...components, storeComponent(history.status(), Date.now())];
    },
  };
}

/** @param now milliseconds since 1970 */
export function storeComponent(status: StoreStatus, now: number): Component {
  const {
    engine,
    phase,
    isHolder,
    waiting,
    waitingSince,
    lastWrite,
    error,
    code,
    lost,
    lostAt,
    bytes,
    unreadable,
  } = status;
  const hint = hintFor(status);
  return {
    key: STORE_COMPONENT,
    name: 'History store',
    enabled: true,
    status: error !== null ? 'down' : phase === 'opening' ? 'unknown' : 'up',
    config: {
      engine,
      phase,
      // The instance that collects and writes for the source; the others only answer.
      is_holder: isHolder,
      waiting,
      delay_seconds: waitingSince === null ? 0 : Math.max(0, Math.floor((now - waitingSince) / 1_000)),
      last_write: timeOf(lastWrite),
      bytes,
      lost,
      lost_at: timeOf(lostAt),
      unreadable,
      error,
      code,
      hints: hint === null ? [] : [hint],
    },
    redacted: true,
  };
}

function timeOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** @returns a sentence that says what to do; `null`: nothing is wrong, or unknown */
function hintFor({ error, remedy, lost, areClocksApart }: StoreStatus): string | null {
  if (error !== null) return remedy;
  if (areClocksApart) {
    return 'The clocks of this process and of the database differ by more than a day: set them. Nothing old is deleted until they agree.';
  }
  if (lost === 0) return null;
  return 'More changes arrived than the store could write: use a faster database, or raise retention.maxTasks.';
}
