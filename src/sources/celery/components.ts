import type { ConnectionState } from '../../kept-connection.ts';
import type { Component } from '../../model.ts';
import { type Redactor, redactComponent } from '../../redact.ts';
import type { ComponentSource } from '../../source.ts';
import type { Broker } from './broker.ts';
import type { Collection } from './collection.ts';
import type { HintComponent } from './hint.ts';
import type { Problem } from './problem.ts';
import type { ResultBackend } from './result-backend.ts';
import type { ResultsProgress } from './results/results.ts';
import type { DeploymentSnapshot } from './snapshot.ts';

/** What components show. */
export interface ComponentsOptions {
  readonly name: string;
  readonly collection: Pick<Collection, 'snapshot' | 'schedules'>;
  /** `null` where it cannot be read. */
  readonly broker: Pick<Broker, 'describe'> | null;
  readonly backend: Pick<ResultBackend, 'describe'> | null;
  /** The scheme of one that cannot be read; `null` without one. */
  readonly foreignBroker: string | null;
  readonly foreignBackend: string | null;
  /** Removes secrets from URLs and configurations; `null`: they stay as they are. */
  readonly redactor: Redactor | null;
}

/** Answers `/api/components/`: broker, result backend, the listener to both, remote control, and beat. */
export function createComponents(options: ComponentsOptions): ComponentSource {
  const { name, collection } = options;
  return {
    name,
    async listComponents() {
      const snapshot = collection.snapshot();
      const components = [
        brokerComponent(options, snapshot),
        backendComponent(options, snapshot),
        collectorComponent(snapshot),
        controlComponent(snapshot),
        await collection.schedules.component(),
      ];
      return components.map((component) => redactComponent(component, options.redactor));
    },
  };
}

function brokerComponent(
  { broker, foreignBroker }: ComponentsOptions,
  snapshot: DeploymentSnapshot,
): Component {
  const label = { key: 'broker', name: 'Broker', enabled: true };
  const hints = sentencesOf(snapshot, 'broker');
  const { events, queues, readOnly } = snapshot;
  if (broker === null || events === null) {
    return { ...label, status: 'unknown', config: { transport: foreignBroker, hints } };
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
      unreadable_messages: queues.unreadable,
      // The finding `workers_silent` names this cause.
      refuses_workers: snapshot.hints.find(({ code }) => code === 'broker_version')?.sentence ?? null,
      hints,
    },
  };
}

function backendComponent(
  { backend, foreignBackend }: ComponentsOptions,
  snapshot: DeploymentSnapshot,
): Component {
  const label = { key: 'backend', name: 'Result backend' };
  const hints = sentencesOf(snapshot, 'backend');
  const { results, stored } = snapshot;
  if (backend !== null && results !== null && stored !== null) {
    const { url, config } = backend.describe();
    const error = results.problem?.sentence ?? null;
    const status = statusOf([results]);
    return {
      ...label,
      enabled: true,
      status,
      url,
      config: { ...config, error, results: progress(stored), hints },
    };
  }
  if (foreignBackend === null) return { ...label, enabled: false, status: 'disabled', config: { hints } };
  return { ...label, enabled: true, status: 'unknown', config: { transport: foreignBackend, hints } };
}

function sentencesOf({ hints }: DeploymentSnapshot, key: HintComponent): string[] {
  return hints.flatMap(({ component, sentence }) => (component === key ? sentence : []));
}

/** Progress of reading stored results. */
function progress(stored: ResultsProgress): Record<string, unknown> {
  const { done, keys, read, kept, unreadable, commands, since, finishedAt, problem } = stored;
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

function collectorComponent(snapshot: DeploymentSnapshot): Component {
  const { channels, messages, dropped } = snapshot;
  const states = [snapshot.events, snapshot.results].filter((state) => state !== null);
  const since = states.map((state) => state.since);
  const isUp = since.every((moment) => moment !== null);
  return {
    key: 'collector',
    name: 'Event collector',
    enabled: true,
    status: statusOf(states),
    config: {
      channels,
      messages,
      dropped,
      connected_since: isUp ? new Date(Math.max(...since.map(Number))).toISOString() : null,
      reconnects: states.reduce((sum, state) => sum + state.reconnects, 0),
      error: states.find((state) => state.problem !== null)?.problem?.sentence ?? null,
      hints: sentencesOf(snapshot, 'collector'),
    },
  };
}

function controlComponent({ control }: DeploymentSnapshot): Component {
  const label = { key: 'control', name: 'Remote control' };
  if (control === null) return { ...label, enabled: false, status: 'disabled' };
  const { problem, hasAnswered } = control;
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
