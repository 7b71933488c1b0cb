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
