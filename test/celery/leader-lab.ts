/** Instances that share a history, of which one at a time collects a deployment made of arrays. */
import type { StoredHistory } from '../../src/history/stored-history.ts';
import { createRedactor } from '../../src/redact.ts';
import type { BrokerEvents } from '../../src/sources/celery/broker.ts';
import { createLedSource } from '../../src/sources/celery/shared/shared-source.ts';
import { createArrayBroker } from './array-broker.ts';
import { createArrayResultBackend } from './array-result-backend.ts';
import { messageOf } from './queues-lab.ts';
import type { SharedHistories } from './shared-history.ts';

const redactor = createRedactor();

const WAITING = ['first', 'second', 'third'].map((id) => ({ queue: 'later', raw: messageOf(id) }));

const WORKERS = {
  'w1@arrays': {
    ping: { ok: 'pong' },
    conf: { beat_schedule: { nightly: { task: 'yard.add', schedule: 30 } } },
    stats: { pid: 7, pool: { 'max-concurrency': 4 }, total: { 'yard.add': 12 } },
    active_queues: [{ name: 'later' }],
    registered: ['yard.add'],
    active: [],
    reserved: [],
  },
};

/** Its worker announces so few heartbeats that none is missing while a test runs. */
function eventsNow(): unknown[] {
  const timestamp = Date.now() / 1000;
  const of = (type: string, more: object) => ({
    type,
    hostname: 'w1@arrays',
    timestamp,
    utcoffset: 0,
    ...more,
  });
  return [
    of('worker-online', { freq: 600, pid: 7 }),
    of('worker-heartbeat', { freq: 600, pid: 7, active: 0, processed: 1 }),
    of('task-received', { uuid: 'done', name: 'yard.add', args: "(1, password='hunter2')", kwargs: '{}' }),
    of('task-started', { uuid: 'done' }),
    of('task-succeeded', { uuid: 'done', result: '3', runtime: 0.1 }),
    of('task-received', { uuid: 'runs', name: 'yard.add', args: "(1, password='hunter2')", kwargs: '{}' }),
    of('task-started', { uuid: 'runs' }),
  ];
}

/** Where an instance that leads reads from. */
type Connections = ReturnType<NonNullable<Parameters<typeof createLedSource>[0]['connect']>>;

/** An instance of a deployment made of arrays. */
export interface Instance {
  readonly history: StoredHistory;
  readonly sources: ReturnType<typeof createLedSource>;
  /** How often it has connected, and how many connections are open. */
  readonly connections: { made: number; open: number };
  /** Whether it reaches its broker. */
  readonly reach: { isUp: boolean };
  /** How often it has checked its brokers, and the commands that it has sent to workers over each of them. */
  readonly cost: { checks: number; readonly asked: (readonly string[])[] };
}

/**
 * @param collects whether it may lead
 * @param waiting messages that wait where it looks
 */
export function openInstance(shared: SharedHistories, collects: boolean, waiting = WAITING): Instance {
  const history = shared.open(redactor, !collects);
  const connections = { made: 0, open: 0 };
  const reach = { isUp: true };
  const cost: Instance['cost'] = { checks: 0, asked: [] };
  const connect = () => connectionsTo(connections, reach, waiting, cost);
  const options = { name: 'celery', history, hasConsumers: false };
  const sources = createLedSource({ ...options, connect: collects ? connect : null });
  return { history, sources, connections, reach, cost };
}

function connectionsTo(
  connections: Instance['connections'],
  reach: Instance['reach'],
  waiting: typeof WAITING,
  cost: Instance['cost'],
): Connections {
  connections.made += 1;
  connections.open += 1;
  const broker = createArrayBroker({
    events: reach.isUp ? eventsNow() : [],
    waiting: reach.isUp ? waiting : [],
    workers: WORKERS,
  });
  cost.asked.push(broker.asked);
  const backend = createArrayResultBackend({ published: [], tasks: [], groups: [] });
  const down: ReturnType<BrokerEvents['state']> = {
    up: false,
    asOf: null,
    since: null,
    reconnects: 0,
    problem: { code: 'ECONNREFUSED', sentence: 'Nothing listens at the address of the broker.' },
  };
  return {
    name: 'celery',
    settings: {},
    broker: {
      ...broker,
      async check() {
        cost.checks += 1;
        return reach.isUp ? null : down.problem;
      },
      events: { ...broker.events, state: () => (reach.isUp ? broker.events.state() : down) },
    },
    backend,
    redbeat: { reader: null, unreadable: null },
    django: null,
    control: true,
    enableEvents: false,
    readResults: true,
    valueLength: 65_536,
    foreignBroker: null,
    foreignBackend: null,
    redactor,
    closeConnections: async () => {
      connections.open -= 1;
    },
  };
}
