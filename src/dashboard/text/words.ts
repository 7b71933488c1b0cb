/** States, arguments and each queueing system's own terms. */
import type { SourceBody } from '../../wire.ts';

const TONES: ReadonlyMap<string | null, string> = new Map([
  [null, 'waiting'],
  ['PENDING', 'waiting'],
  ['RECEIVED', 'waiting'],
  ['RETRY', 'retry'],
  ['SUCCESS', 'success'],
  ['FAILURE', 'failure'],
  ['REVOKED', 'revoked'],
  ['REJECTED', 'revoked'],
]);

/** The colour of a state. Custom states have that of a running task. */
export const toneOf = (state: string | null): string => TONES.get(state) ?? 'running';

const MARKS: Readonly<Record<string, string>> = {
  failure: '■',
  success: '✓',
  running: '●',
  retry: '↻',
  revoked: '–',
};

/** The mark that says what a colour does. */
export const markOf = (tone: string): string => MARKS[tone] ?? '○';

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

/** States in which a task has ended. */
export const ENDED = ['SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED'] as const;

/** States of Celery's tasks. */
export const STATES: readonly string[] = ['PENDING', 'RECEIVED', 'STARTED', 'RETRY', ...ENDED];

const CELERY: Words = {
  args: 'Positional arguments',
  input: 'arguments',
  kwargs: 'Keyword arguments',
  parent: 'Sent by',
  states: STATES,
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
