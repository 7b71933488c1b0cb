import { type IntegerBounds, readInteger, wrongOption } from '../check-options.ts';

/** The function that these options are given to, as messages name it. */
export const CALLER = 'createMonitorRouter';

export function wrong(option: string, expected: string, given: unknown): TypeError {
  return wrongOption(CALLER, option, expected, given);
}

export function integer(option: string, value: unknown, bounds: IntegerBounds): number {
  return readInteger(CALLER, option, value, bounds);
}
