/** Cursors: opaque to clients, of one kind each, so that one of another list is found out. */
import { type Parameter, single } from './parameter.ts';

const LONGEST = 8_192;
const FAULT = 'Write a cursor that this list gave, unchanged.';

/** @param parts anything that JSON keeps */
export function encodeCursor(kind: string, ...parts: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([kind, ...parts])).toString('base64url');
}

/** @returns what {@link encodeCursor} was given, of unknown shape; `null` when it is no such cursor */
export function decodeCursor(kind: string, text: string): readonly unknown[] | null {
  if (text.length > LONGEST || !/^[\w-]+$/.test(text)) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return Array.isArray(value) && value[0] === kind ? value.slice(1) : null;
  } catch {
    return null;
  }
}

/** A parameter that is a cursor. */
export function cursor<T>(description: string, read: (text: string) => T | null): Parameter<T | null> {
  return single<T | null>(description, { type: 'string', minLength: 1 }, null, (text) => {
    const value = read(text);
    return value === null ? { fault: FAULT } : { value };
  });
}
