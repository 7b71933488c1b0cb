import type { Component } from '../../model.ts';
import type { ComponentSource } from '../../source.ts';
import type { Collector } from './collector.ts';
import type { Connection } from './connection.ts';
import type { RedisEndpoint } from './endpoints.ts';
import type { ResolvedOptions } from './options.ts';

/** Answers `/api/components/`: the broker, the result backend, and what listens to both. */
export function componentsOf(options: ResolvedOptions, collector: Collector): ComponentSource {
  return {
    name: options.name,
    listComponents: () => [
      redis('broker', 'Broker', options.broker, collector.events, options.settings.broker_transport_options),
      backendComponent(options, collector),
      collectorComponent(collector),
    ],
  };
}

function redis(
  key: string,
  name: string,
  endpoint: RedisEndpoint,
  connection: Connection,
  transportOptions: object | undefined,
): Component {
  return {
    key,
    name,
    enabled: true,
    status: statusOf([connection]),
    url: endpoint.url,
    config: {
      transport: 'redis',
      database: endpoint.database,
      // The names alone: among the values are passwords of Sentinels.
      transport_options: Object.keys(transportOptions ?? {}),
      error: connection.state().problem?.sentence ?? null,
    },
  };
}

function backendComponent(options: ResolvedOptions, collector: Collector): Component {
  const { backend, foreignBackend, settings } = options;
  const key = 'backend';
  const name = 'Result backend';
  if (backend !== null && collector.results !== null) {
    return redis(key, name, backend, collector.results, settings.result_backend_transport_options);
  }
  if (foreignBackend === null) return { key, name, enabled: false, status: 'disabled' };
  const hints = [`Results in ${foreignBackend} are not read; states come from events alone.`];
  return { key, name, enabled: true, status: 'unknown', config: { transport: foreignBackend, hints } };
}

function collectorComponent(collector: Collector): Component {
  const connections = connectionsOf(collector);
  const states = connections.map((connection) => connection.state());
  const { messages, dropped } = collector.counts();
  const since = states.map((state) => state.since);
  const up = since.every((moment) => moment !== null);
  return {
    key: 'collector',
    name: 'Event collector',
    enabled: true,
    status: statusOf(connections),
    config: {
      channels: collector.subscriptions.map((subscription) => subscription.name),
      messages,
      dropped,
      connected_since: up ? new Date(Math.max(...since.map(Number))).toISOString() : null,
      reconnects: states.reduce((sum, state) => sum + state.reconnects, 0),
      error: states.find((state) => state.problem !== null)?.problem?.sentence ?? null,
    },
  };
}

function connectionsOf({ events, results }: Collector): Connection[] {
  return results === null || results === events ? [events] : [events, results];
}

/** Before the first attempt has ended, nobody knows. */
function statusOf(connections: readonly Connection[]): Component['status'] {
  const states = connections.map((connection) => connection.state());
  if (states.every((state) => state.up)) return 'up';
  return states.some((state) => state.problem !== null) ? 'down' : 'unknown';
}
