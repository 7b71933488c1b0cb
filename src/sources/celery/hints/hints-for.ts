import { HINT_CODES, type Hint } from '../hint.ts';
import { accessHints } from './access-rules.ts';
import { eventHints } from './event-rules.ts';
import type { HintInput } from './input.ts';
import { resultHints } from './result-rules.ts';

/** Most hints that are shown. */
const MOST_HINTS = 20;

/**
 * Finds reasons for missing data; the one that hides most comes first. Each rule needs evidence. The same input
 * gives the same hints in the same order.
 */
export function hintsFor(input: HintInput): Hint[] {
  const rules = [...accessHints(input), ...input.found, ...eventHints(input), ...resultHints(input)];
  const codes = new Set(rules.map(({ code }) => code));
  const ofBackend = (input.options.backendHints?.() ?? []).filter(({ code }) => !codes.has(code));
  return [...rules, ...ofBackend]
    .sort((a, b) => HINT_CODES.indexOf(a.code) - HINT_CODES.indexOf(b.code))
    .slice(0, MOST_HINTS);
}
