/** Listens to a deployment as a collector does, and tells an observer instead of a history. */

import type { CelerySourcesOptions } from '../../src/celery.ts';
import { createConnection } from '../../src/redis/connection.ts';
import type { RedisEndpoint } from '../../src/redis/endpoint.ts';
import { diagnoseDatabase, diagnoseResults } from '../../src/sources/celery/backends/redis/diagnose.ts';
import { resultSubscription } from '../../src/sources/celery/backends/redis/result-channels.ts';
import { eventSubscriptions } from '../../src/sources/celery/brokers/redis/channels.ts';
import { diagnoseEvents } from '../../src/sources/celery/brokers/redis/diagnose.ts';
import { contentTypeOf, decodeEnvelope } from '../../src/sources/celery/brokers/redis/envelope.ts';
import { createHints, type Hints } from '../../src/sources/celery/hints/hints.ts';
import { createObserver, type Observer } from '../../src/sources/celery/hints/observer.ts';
import { type CeleryEvent, taskChangeOf } from '../../src/sources/celery/protocol/events.ts';
import { decodeResult } from '../../src/sources/celery/protocol/results.ts';
import { workerChangeOf } from '../../src/sources/celery/protocol/worker-events.ts';
import { resolveOptions } from '../helpers/celery-options.ts';

import { hintOptions } from './hints-deployment.ts';

/** What is watched, and what is said of it. */
export interface Watch extends Hints {
  hints(): string[];
  readonly observer: Observer;
  readonly broker: RedisEndpoint;
  isUp(): boolean;
  /** When Redis last answered on the connection for events, in milliseconds since 1970. */
  aliveAt(): number;
  codes(): string[];
  /** The line to change that the hint of this code names. */
  line(code: string): string | undefined;
}

/** Impatient, so that a test does not take half a minute. */
const TIMES = { tick: 50, quiet: 500 };

/**
 * Starts watching.
 *
 * @param listen milliseconds to listen elsewhere; heartbeats of workers come every two seconds
 */
export function watch(options: CelerySourcesOptions, listen = 2500): Watch {
  const resolved = resolveOptions({ control: false, ...options });
  const { broker, backend, settings } = resolved;
  if (broker === null || backend === null) throw new Error('Both are watched.');
  const observer = createObserver();
  const subscriptions = eventSubscriptions(settings, broker.database);
  const { name: pattern, prefix } = resultSubscription(settings);

  function takeEvent(event: CeleryEvent): void {
    const task = String(event.type).startsWith('task-') ? taskChangeOf(event) : null;
    const worker = workerChangeOf(event);
    if (task !== null) observer.task(task);
    if (worker !== null) observer.worker(worker);
  }

  const events = createConnection({
    label: 'events',
    open: broker.open,
    onUp: () => observer.connected('broker'),
    async prepare(client) {
      for (const { kind, name } of subscriptions) {
        await client[kind === 'pattern' ? 'pSubscribe' : 'subscribe']([name], (message) => {
          const body = decodeEnvelope(message);
          if (body === undefined) observer.unreadable('event', contentTypeOf(message) ?? '');
          else for (const event of [body].flat()) takeEvent(event as CeleryEvent);
        });
      }
    },
  });
  const results = createConnection({
    label: 'results',
    open: backend.open,
    onUp: () => observer.connected('backend'),
    prepare: (client) =>
      client.pSubscribe([pattern], (message, channel) => {
        const stored = decodeResult(message, channel.slice(prefix.length), 1000);
        if (stored === null) observer.unreadable('result', message);
        else observer.task(stored.change);
      }),
  });
  const hints = createHints({
    options: hintOptions(resolved),
    observer,
    events,
    results,
    diagnoses: {
      events: (signal) => diagnoseEvents(broker, settings, listen, signal),
      results: (signal) => diagnoseResults(backend, settings, listen, signal),
      database: (taskId, signal) => diagnoseDatabase(backend, settings, taskId, signal),
    },
    times: TIMES,
  });
  return {
    ...hints,
    observer,
    broker,
    isUp: () => events.state().up && results.state().up,
    aliveAt: () => events.state().asOf ?? 0,
    hints: () => hints.details().map(({ sentence }) => sentence),
    codes: () => hints.details().map(({ code }) => code),
    line: (wanted) => hints.details().find(({ code }) => code === wanted)?.line,
    async close() {
      await Promise.all([hints.close(), events.close(), results.close()]);
    },
  };
}

/** What a line that names options of this source makes of them. */
export function optionsOf(line: string, redis: { url(database: number): string }): CelerySourcesOptions {
  const text = line.replace(/redis:\/\/…\/(\d+)/g, (_, database) => redis.url(Number(database)));
  return new Function(`return ({ ${text} })`)() as CelerySourcesOptions;
}
