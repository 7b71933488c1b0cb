/** Reads a text up to the next stem, at which a secret or the name of one may begin. */
import { type Automaton, type Found, nextState } from './automaton.ts';
import type { Stem } from './finder-rules.ts';
import { afterBackslashes, codeAt, escapedUnit, type Unit } from './units.ts';

/** The progress of reading a text. */
export interface Reading {
  readonly text: string;
  /** Everything before this index has been read. */
  at: number;
  /** The state of the automaton there. */
  state: number;
}

/** Reads to the end of the next stems; `null` at the end of the text. Most time is spent here, so the loop is small. */
export function nextStems(
  { next, firstFound, found }: Automaton<Stem>,
  reading: Reading,
): readonly Stem[] | null {
  const { text } = reading;
  let { at, state } = reading;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) {
      const unit = afterEscape(text, at);
      if (unit.code !== 0) state = nextState(next, state, unit.code);
      at = unit.end;
    } else {
      state = nextState(next, state, code);
      at++;
    }
    if (state < firstFound) continue;
    reading.at = at;
    reading.state = state;
    return (found[state - firstFound] as Found<Stem>).words;
  }
  return null;
}

const BACKSLASH = 92;

/** The escaped character after backslashes; code 0 if it does not matter, such as a slash or a quote. */
function afterEscape(text: string, at: number): Unit {
  const behind = afterBackslashes(text, at);
  // `\/` in JSON is a slash, which is read next.
  if (codeAt(text, behind) === 47) return { code: 0, end: behind };
  return escapedUnit(text, behind) ?? { code: BACKSLASH, end: behind };
}
