import type { RedactFunction, RedactOptions } from './redact-options.ts';
import { createRedactor, type Redactor } from './redactor.ts';

/**
 * Creates the redactor of a source.
 *
 * @param option as in `createMonitorRouter({ redact })`. Default: the built-in rules
 * @param caller the function that takes the option, for messages
 * @returns `null` for `false`: the source keeps and returns its texts as they are
 * @throws TypeError when the option is invalid
 */
export function createSourceRedactor(
  option: RedactOptions | RedactFunction | false | undefined,
  caller: string,
): Redactor | null {
  return option === false ? null : createRedactor(option, caller);
}
