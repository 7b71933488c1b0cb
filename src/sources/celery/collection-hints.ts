/** What a collection knows about data that it cannot see. */
import type { Broker } from './broker.ts';
import type { Collector } from './collector.ts';
import type { AccessProblems } from './hints/facts.ts';
import { createHints, type Hints } from './hints/hints.ts';
import type { Observer } from './hints/observer.ts';
import type { ResultBackend } from './result-backend.ts';

/** The options of a collection on which hints depend. */
interface HintedOptions {
  readonly broker: Broker | null;
  readonly backend: ResultBackend | null;
  readonly control: boolean;
  readonly enableEvents: boolean;
  readonly foreignBroker: string | null;
  readonly foreignBackend: string | null;
}

/** Makes the hints of a collection. */
export function hintsOf(
  options: HintedOptions,
  observer: Observer,
  collector: Collector,
  problems: () => AccessProblems,
): Hints {
  const { broker, backend, control, enableEvents, foreignBroker, foreignBackend } = options;
  return createHints({
    options: {
      control,
      enableEvents,
      listsMessages: broker?.queues?.listsMessages ?? true,
      foreignBroker,
      foreignBackend,
      hasBackend: backend !== null,
      brokerHint: broker?.deniedHint,
      backendHint: backend?.deniedHint,
      backendHints: backend?.hints,
    },
    observer,
    problems,
    events: collector.events,
    results: collector.results,
    diagnoses: { events: broker?.diagnose, results: backend?.diagnose, database: backend?.locate },
  });
}

/** Why tasks may run unobserved; `null`: nothing is known to hide them. */
export function blindness({ events }: Collector, observer: Observer, hints: Hints): string | null {
  if (events === null) return 'The events of this broker cannot be read.';
  const silent = hints.silentWorkers();
  if (silent.length > 0) return `${silent.length} of the workers send no events, such as ${silent[0]}.`;
  return observer.facts().hasTaskEvents ? null : 'No worker has reported a task yet.';
}

/** Whether tasks may run that no event has reported yet. */
export function isDeaf(
  events: Broker['events'] | null,
  collector: Collector,
  observer: Observer,
  hints: Hints,
): boolean {
  if (events === null || !events.state().up || events.isBehind?.() === true) return true;
  return blindness(collector, observer, hints) !== null;
}
