import type { ConnectionState } from '../../kept-connection.ts';
import type { Component } from '../../model.ts';
import { redactComponent } from '../../redact.ts';
import type { ComponentSource } from '../../source.ts';
import type { Collection, CollectionOptions } from './collection.ts';
import type { Hint, HintComponent, Problem } from './hint.ts';
import type { ResultsProgress } from './results/results.ts';

/** What components show of the options. */
type ComponentsOptions = Pick<
  CollectionOptions,
  'name' | 'broker' | 'backend' | 'foreignBroker' | 'foreignBackend' | 'redactor'
>;

/** Answers `/api/components/`: broker, result backend, the listener to both, remote control, and beat. */
export function createComponents(options: ComponentsOptions, collection: Collection): ComponentSource {
  const { name, redactor = null } = options;
  return {
    name,
    async listComponents() {
      const hints = collection.hints.all();
      const components = [
        brokerComponent(options, collection, hints),
        backendComponent(options, collection, hints),
        collectorComponent(collection, hints),
        controlComponent(collection),
        await collection.schedules.component(),
      ];
      return components.map((component) => redactComponent(component, redactor));
    },
  };
}

function brokerComponent(
  { broker, foreignBroker }: ComponentsOptions,
  { collector, queues, brokerWatch }: Collection,
  all: readonly Hint[],
): Component {
  const label = { key: 'broker', name: 'Broker', enabled: true };
  const hints = hintsOf(all, 'broker');
  const events = collector.events?.state() ?? null;
  const readOnly = brokerWatch?.problem() ?? null;
  if (broker === null || events === null) {
    return { ...label, status: 'unknown', config: { transport: foreignBroker, ...hints } };
  }
  const { url, config } = broker.describe();
  const error = (events.problem ?? readOnly)?.sentence ?? null;
  return {
    ...label,
    status: readOnly === null ? statusOf([events]) : 'down',
    url,
    config: {
      ...config,
      error,
      unreadable_messages: queues?.unreadable() ?? 0,
      // The finding `workers_silent` names this cause.
      refuses_workers: all.find(({ code }) => code === 'broker_version')?.sentence ?? null,
      ...hints,
    },
  };
}

function backendComponent(
  { backend, foreignBackend }: ComponentsOptions,
  { collector, results }: Collection,
  all: readonly Hint[],
): Component {
  const label = { key: 'backend', name: 'Result backend' };
  const hints = hintsOf(all, 'backend');
  const state = collector.results?.state() ?? null;
  if (backend !== null && state !== null && results !== null) {
    const { url, config } = backend.describe();
    const error = state.problem?.sentence ?? null;
    const status = statusOf([state]);
    return {
      ...label,
      enabled: true,
      status,
      url,
      config: { ...config, error, results: progress(results.progress()), ...hints },
    };
  }
  if (foreignBackend === null) return { ...label, enabled: false, status: 'disabled', config: hints };
  return { ...label, enabled: true, status: 'unknown', config: { transport: foreignBackend, ...hints } };
}

/** The members of a component's `config`: the hints about it, and the code of each. */
function hintsOf(all: readonly Hint[], key: HintComponent): { hints: string[]; hint_codes: string[] } {
  const own = all.filter(({ component }) => component === key);
  return { hints: own.map(({ sentence }) => sentence), hint_codes: own.map(({ code }) => code) };
}

/** Progress of reading stored results. */
function progress({ since, finishedAt, problem, ...counts }: ResultsProgress): Record<string, unknown> {
  return {
    ...counts,
    since: since?.toISOString() ?? null,
    finished_at: finishedAt?.toISOString() ?? null,
    error: problem?.sentence ?? null,
  };
}

function collectorComponent({ collector, intake }: Collection, hints: readonly Hint[]): Component {
  const { channels, events, results } = collector;
  const states = [events, results].flatMap((connection) => connection?.state() ?? []);
  const since = states.map((state) => state.since);
  const isUp = since.every((moment) => moment !== null);
  return {
    key: 'collector',
    name: 'Event collector',
    enabled: true,
    status: statusOf(states),
    config: {
      channels,
      messages: collector.messages(),
      dropped: intake.dropped(),
      connected_since: isUp ? new Date(Math.max(...since.map(Number))).toISOString() : null,
      reconnects: states.reduce((sum, state) => sum + state.reconnects, 0),
      error: states.find((state) => state.problem !== null)?.problem?.sentence ?? null,
      ...hintsOf(hints, 'collector'),
    },
  };
}

function controlComponent({ control }: Collection): Component {
  const label = { key: 'control', name: 'Remote control' };
  if (control === null) return { ...label, enabled: false, status: 'disabled' };
  const problem = control.problem();
  const hasAnswered = control.inspection.queuesOf() !== null;
  return {
    ...label,
    enabled: true,
    // Not known until a worker has answered.
    status: problem !== null ? 'down' : hasAnswered ? 'up' : 'unknown',
    config: { error: problem?.sentence ?? null },
  };
}

/** Not known until the first attempt to connect has ended. */
function statusOf(states: readonly ConnectionState<Problem>[]): Component['status'] {
  if (states.every((state) => state.up)) return 'up';
  return states.some((state) => state.problem !== null) ? 'down' : 'unknown';
}
