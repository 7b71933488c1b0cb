/** Collects a deployment into a history, and answers from both. */
import type { History } from '../../history/history.ts';
import { type CeleryParts, createAnswers } from './answers.ts';
import { type CollectionOptions, createCollection } from './collection.ts';
import type { Deployment } from './deployment.ts';
import { createLiveDeployment } from './live-deployment.ts';

/** The collected deployment, and how its connections are closed. */
export interface LiveOptions extends CollectionOptions {
  /** Called at the end, to close the connections of broker and backend. */
  readonly closeConnections: () => Promise<void>;
}

/** A deployment that is collected until this is closed. */
export interface Live {
  readonly deployment: Deployment;
  readonly parts: CeleryParts;
  /** Whether it receives messages. */
  isListening(): boolean;
  /** Closes the connections, too. The history stays open. */
  close(): Promise<void>;
}

/** Connects at once. */
export function openLive(options: LiveOptions, history: History): Live {
  const { name, broker, backend, foreignBroker, foreignBackend, redactor = null } = options;
  const { reader, index } = history;
  const collection = createCollection(options, history);
  const deployment = createLiveDeployment({
    name,
    reader,
    index,
    collection,
    broker,
    backend,
    foreignBroker,
    foreignBackend,
    redactor,
  });
  return {
    deployment,
    parts: createAnswers(name, reader, deployment),
    isListening: collection.isListening,
    async close() {
      await collection.close();
      await options.closeConnections();
    },
  };
}
