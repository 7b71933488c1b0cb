/** Whether tasks may run that nothing here reports. */
import type { BrokerEvents } from '../broker.ts';
import type { Observer } from './observer.ts';
import { workersWithoutEvents } from './rules.ts';

/** What the events of a deployment show. */
export interface Sight {
  /** Workers that run tasks about which no event arrives. */
  silentWorkers(): readonly string[];
  /** Why tasks may run unobserved; `null`: nothing is known to hide them. */
  blind(): string | null;
  /** Whether tasks may run that no event has reported yet. */
  isDeaf(): boolean;
}

/** @param events `null` where the broker cannot be read */
export function createSight(observer: Observer, events: BrokerEvents | null): Sight {
  const silentWorkers = (): readonly string[] =>
    workersWithoutEvents({ facts: observer.facts(), broker: events?.state() ?? null, now: Date.now() });

  function blind(): string | null {
    if (events === null) return 'The events of this broker cannot be read.';
    const silent = silentWorkers();
    if (silent.length > 0) return `${silent.length} of the workers send no events, such as ${silent[0]}.`;
    return observer.facts().hasTaskEvents ? null : 'No worker has reported a task yet.';
  }

  return {
    silentWorkers,
    blind,
    isDeaf: () => events === null || !events.state().up || events.isBehind?.() === true || blind() !== null,
  };
}
