import type { OptionPlace } from '../check-options.ts';
import type { RedactFunction, RedactOptions } from './redact-options.ts';
import { createRedactor, type Redactor } from './redactor.ts';

/**
 * Creates the redactor of a source.
 *
 * @param given the option as in `createMonitorRouter({ redact })`. Default: the built-in rules
 * @returns `null` for `false`: the source keeps and returns its texts as they are
 * @throws TypeError when the option is invalid
 */
export function createSourceRedactor(
  given: unknown,
  { caller }: Pick<OptionPlace, 'caller'>,
): Redactor | null {
  return given === false ? null : createRedactor(given as RedactOptions | RedactFunction, caller);
}
