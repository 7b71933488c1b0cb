import { createMemoryHistory } from '../../history/memory-history.ts';
import type { RetentionOptions } from '../../history/retention.ts';
import { withEngine } from '../../source/engine.ts';
import { type CeleryParts, createAnswers } from './answers.ts';
import { type CollectionOptions, createCollection } from './collection.ts';
import { createLiveDeployment } from './live-deployment.ts';

/** Longest text of a stored value in characters, unless `retention.maxValueLength` is set. */
const VALUE_LENGTH = 65_536;

/** The parts of a Celery source, for any broker and result backend. */
export interface CelerySourceOptions extends Omit<CollectionOptions, 'valueLength'> {
  /** Limits on what is held in memory. */
  readonly retention: RetentionOptions;
  /** Called at the end, to close the connections of broker and backend. */
  readonly closeConnections: () => Promise<void>;
}

/** A Celery source: a history, what collects into it, and what answers from it. */
export function createCelerySource(options: CelerySourceOptions): CeleryParts & { close(): Promise<void> } {
  const { name, retention, broker, backend, foreignBroker, foreignBackend } = options;
  const history = createMemoryHistory({
    ...retention,
    redactor: options.redactor ?? null,
    eventless: broker === null,
  });
  const valueLength = retention.maxValueLength ?? VALUE_LENGTH;
  const collection = createCollection({ ...options, valueLength }, history);
  const { reader, index } = history;
  const deployment = createLiveDeployment({
    name,
    reader,
    index,
    collection,
    broker,
    backend,
    foreignBroker,
    foreignBackend,
    redactor: options.redactor ?? null,
  });
  const parts = createAnswers(name, reader, deployment);
  let closing: Promise<void> | null = null;

  async function close(): Promise<void> {
    await collection.close();
    await options.closeConnections();
    history.close();
  }

  return {
    ...withEngine(parts, 'celery'),
    close() {
      closing ??= close();
      return closing;
    },
  };
}
