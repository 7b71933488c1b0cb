/** Colours of the states. */
const TONES: Readonly<Record<string, string>> = {
  PENDING: 'waiting',
  RECEIVED: 'waiting',
  STARTED: 'running',
  RETRY: 'retry',
  SUCCESS: 'success',
  FAILURE: 'failure',
  REVOKED: 'revoked',
  REJECTED: 'revoked',
};

/** The colour of a state. Custom states have the colour of a running task. */
export const toneOf = (state: string | null): string => {
  if (state === null) return 'waiting';
  return Object.hasOwn(TONES, state) ? (TONES[state] ?? 'running') : 'running';
};

/** Words of an engine that add nothing to the state next to them. */
const SAME = new Set(['waiting', 'active', 'completed', 'failed']);

/** Whether the engine's word for a state adds information to the state. */
export const saysMore = (word: string | null): word is string => word !== null && !SAME.has(word);
