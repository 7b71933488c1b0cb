import { type Parameter, single } from './parameter.ts';

const FAULT = 'Write a cursor that this list returned, unchanged.';

/** A cursor. @param read parses it; `null` when it is not valid */
export function cursor<T>(description: string, read: (text: string) => T | null): Parameter<T | null> {
  return single<T | null>(description, { type: 'string', minLength: 1 }, null, (text) => {
    const value = read(text);
    return value === null ? { fault: FAULT } : { value };
  });
}
