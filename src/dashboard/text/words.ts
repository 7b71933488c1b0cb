/** Each queueing system's own terms. */
import type { SourceBody } from '../../wire.ts';

/** The terms of a queueing system for the parts of a task. */
export interface Words {
  readonly args: string;
  /** The same within a sentence, as one word. */
  readonly input: string;
  readonly kwargs: string;
  readonly parent: string;
  /** States that its tasks can have, even if none has them now. */
  readonly states: readonly string[];
  /** The engine's own states in addition to these. */
  readonly engineStates: readonly string[];
}

const CELERY: Words = {
  args: 'Positional arguments',
  input: 'arguments',
  kwargs: 'Keyword arguments',
  parent: 'Sent by',
  states: ['PENDING', 'RECEIVED', 'STARTED', 'RETRY', 'SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED'],
  engineStates: [],
};

const BULLMQ: Words = {
  args: 'Data',
  input: 'data',
  kwargs: 'Options',
  parent: 'Parent',
  states: ['PENDING', 'STARTED', 'RETRY', 'SUCCESS', 'FAILURE'],
  engineStates: ['delayed', 'prioritized', 'waiting-children', 'paused'],
};

/** The terms for the tasks of a source. @param name default: all sources, if they have the same engine */
export function wordsFor(sources: readonly SourceBody[], name?: string): Words {
  const meant = sources.filter((source) => name === undefined || source.name === name);
  return areAllBullMQ(meant) ? BULLMQ : CELERY;
}

/** Whether all sources are BullMQ, so that there is neither beat nor a separate result backend. */
export function areAllBullMQ(sources: readonly SourceBody[]): boolean {
  return sources.length > 0 && sources.every(({ engine }) => engine === 'bullmq');
}
