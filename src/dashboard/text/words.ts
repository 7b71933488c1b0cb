/** States, arguments and each queueing system's own terms. */
import type { SourceBody } from '../../wire.ts';

/** Colours of the states: in text, and in charts. */
const TONES = {
  PENDING: ['waiting', 'waiting'],
  RECEIVED: ['waiting', 'waiting'],
  STARTED: ['running', 'running'],
  RETRY: ['retry', 'retried'],
  SUCCESS: ['success', 'succeeded'],
  FAILURE: ['failure', 'failed'],
  REVOKED: ['revoked', 'cancelled'],
  REJECTED: ['revoked', 'cancelled'],
} as const;

type State = keyof typeof TONES;

/** Custom states have the colour of a running task. */
const tonesOf = (state: string | null) =>
  TONES[state === null ? 'PENDING' : Object.hasOwn(TONES, state) ? (state as State) : 'STARTED'];

/** The colour of a state. */
export const toneOf = (state: string | null): string => tonesOf(state)[0];

/** The colour of a state in charts. */
export const chartToneOf = (state: string | null) => tonesOf(state)[1];

/** The arguments of a task. Engines write missing ones as an empty value. */
export const callText = (...parts: readonly (string | null)[]): string =>
  parts.filter((text) => text !== null && !isEmpty(text)).join(' ');

/** Whether this is a value without content. */
export const isEmpty = (text: string | null): boolean => text === '()' || text === '[]' || text === '{}';

/** Words of an engine that add nothing to the state next to them. */
const SAME = new Set(['waiting', 'active', 'completed', 'failed']);

/** Whether the engine's word for a state adds information to the state. */
export const saysMore = (word: string | null): word is string => word !== null && !SAME.has(word);

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
