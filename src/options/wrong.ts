import { type IntegerBounds, MONITOR, readInteger, wrongOption } from '../check-options.ts';

/** The error for an option with a wrong value. */
export function wrong(option: string, expected: string, given: unknown): TypeError {
  return wrongOption(MONITOR, option, expected, given);
}

/** Reads an integer option. @throws TypeError that says what to write */
export function integer(option: string, value: unknown, bounds: IntegerBounds): number {
  return readInteger(MONITOR, option, value, bounds);
}
