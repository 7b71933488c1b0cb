import { type IntegerBounds, readInteger, wrongOption } from '../check-options.ts';

/** The function that takes these options, for error messages. */
export const CALLER = 'createMonitorRouter';

/** The error for an option with a wrong value. */
export function wrong(option: string, expected: string, given: unknown): TypeError {
  return wrongOption(CALLER, option, expected, given);
}

/** Reads an integer option. @throws TypeError that says what to write */
export function integer(option: string, value: unknown, bounds: IntegerBounds): number {
  return readInteger(CALLER, option, value, bounds);
}
