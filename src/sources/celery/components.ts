import type { Component, QueueDepth } from '../../model.ts';
import type { ComponentSource } from '../../source.ts';
import type { Broker } from './broker.ts';
import type { Collector } from './collector.ts';
import type { ConnectionState } from './connection-state.ts';
import type { WorkerControl } from './control/worker-control.ts';
import type { Hints } from './hints/hints.ts';
import type { ResolvedOptions } from './options.ts';
import type { ResultBackend } from './result-backend.ts';
import type { Results } from './results/results.ts';

interface Connected {
  state(): ConnectionState;
}

/** What components tell of. */
export interface ComponentParts {
  readonly options: ResolvedOptions;
  /** `null` where the broker cannot be read. */
  readonly broker: Broker | null;
  readonly collector: Collector;
  readonly hints: Hints;
  /** Messages and events that could not be read. */
  readonly dropped: () => number;
  /** `null` without a backend that can be read. */
  readonly backend: ResultBackend | null;
  readonly results: Results | null;
  /** What waits in the broker's queues, with who takes from them. */
  readonly queues: () => readonly QueueDepth[];
  /** Messages in queues that could not be read. */
  readonly unreadableMessages: () => number;
  /** `null` where the host does not want it. */
  readonly control: WorkerControl | null;
  readonly beat: () => Promise<Component>;
}

/** Answers `/api/components/`: broker, result backend, what listens to both, remote control, and beat. */
export function componentsOf(parts: ComponentParts): ComponentSource {
  return {
    name: parts.options.name,
    async listComponents() {
      const hints = parts.hints.byComponent();
      return [
        brokerComponent(parts, hints.broker),
        backendComponent(parts, hints.backend),
        collectorComponent(parts, hints.collector),
        controlComponent(parts.control),
        await parts.beat(),
      ];
    },
  };
}

function brokerComponent(parts: ComponentParts, hints: readonly string[]): Component {
  const { options, broker, queues, unreadableMessages } = parts;
  const label = { key: 'broker', name: 'Broker', enabled: true };
  if (broker === null) {
    return { ...label, status: 'unknown', config: { transport: options.foreignBroker, hints } };
  }
  const { url, config } = broker.describe();
  const error = broker.events.state().problem?.sentence ?? null;
  return {
    ...label,
    status: statusOf([broker.events]),
    url,
    config: { ...config, error, unreadable_messages: unreadableMessages(), hints },
    queues: queues(),
  };
}

function backendComponent(parts: ComponentParts, hints: readonly string[]): Component {
  const { options, backend, results } = parts;
  const { foreignBackend } = options;
  const label = { key: 'backend', name: 'Result backend' };
  if (backend !== null && results !== null) {
    const { url, config } = backend.describe();
    const error = backend.published.state().problem?.sentence ?? null;
    const status = statusOf([backend.published]);
    return {
      ...label,
      enabled: true,
      status,
      url,
      config: { ...config, error, results: progressOf(results), hints },
    };
  }
  if (foreignBackend === null) return { ...label, enabled: false, status: 'disabled', config: { hints } };
  return { ...label, enabled: true, status: 'unknown', config: { transport: foreignBackend, hints } };
}

/** How far reading in has come. */
function progressOf(results: Results): Record<string, unknown> {
  const { done, keys, read, kept, unreadable, commands, since, finishedAt, problem } = results.progress();
  return {
    done,
    keys,
    read,
    kept,
    unreadable,
    commands,
    since: since?.toISOString() ?? null,
    finished_at: finishedAt?.toISOString() ?? null,
    error: problem?.sentence ?? null,
  };
}

function collectorComponent(parts: ComponentParts, hints: readonly string[]): Component {
  const { collector, dropped } = parts;
  const connections = [collector.events, collector.results].filter((connection) => connection !== null);
  const states = connections.map((connection) => connection.state());
  const since = states.map((state) => state.since);
  const up = since.every((moment) => moment !== null);
  return {
    key: 'collector',
    name: 'Event collector',
    enabled: true,
    status: statusOf(connections),
    config: {
      channels: collector.channels,
      messages: collector.messages(),
      dropped: dropped(),
      connected_since: up ? new Date(Math.max(...since.map(Number))).toISOString() : null,
      reconnects: states.reduce((sum, state) => sum + state.reconnects, 0),
      error: states.find((state) => state.problem !== null)?.problem?.sentence ?? null,
      hints,
    },
  };
}

function controlComponent(control: WorkerControl | null): Component {
  const label = { key: 'control', name: 'Remote control' };
  if (control === null) return { ...label, enabled: false, status: 'disabled' };
  const problem = control.problem();
  return {
    ...label,
    enabled: true,
    // Before somebody has asked, nobody knows.
    status: problem !== null ? 'down' : control.inspection.queuesOf() === null ? 'unknown' : 'up',
    config: { error: problem?.sentence ?? null },
  };
}

/** Before the first attempt has ended, nobody knows. */
function statusOf(connections: readonly Connected[]): Component['status'] {
  const states = connections.map((connection) => connection.state());
  if (states.every((state) => state.up)) return 'up';
  return states.some((state) => state.problem !== null) ? 'down' : 'unknown';
}
