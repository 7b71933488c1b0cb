/**
 * Checks of single values, and their combinations. A failure names the path of the value and what is wrong
 * with it.
 */
import { AssertionError } from 'node:assert';
import { inspect } from 'node:util';
import { isRecord } from '../values.ts';

/** Throws an AssertionError that names `path` when the value is wrong. */
export type Shape = (value: unknown, path: string) => void;

/** Fails with one sentence about the value at `path`. */
export function fail(path: string, wanted: string, actual: unknown): never {
  const shown = inspect(actual, { depth: 1, maxStringLength: 200, maxArrayLength: 5 });
  throw new AssertionError({ message: `${path}: expected ${wanted}, got ${shown}` });
}

/**
 * Creates a check from a predicate.
 *
 * @param wanted description of a valid value, for the message of a failure
 */
export function shape(wanted: string, holds: (value: unknown) => boolean): Shape {
  return (value, path) => {
    if (!holds(value)) fail(path, wanted, value);
  };
}

/** Allows any value. */
export const anything: Shape = () => {};
/** A boolean. */
export const boolean = shape('a boolean', (value) => typeof value === 'boolean');
/** A string, perhaps empty. */
export const text = shape('a string', (value) => typeof value === 'string');
/** A non-empty string. */
export const filled = shape('a non-empty string', (value) => typeof value === 'string' && value !== '');
/** A finite number. */
export const number = shape('a finite number', Number.isFinite);
/** A non-negative integer. */
export const count = shape(
  'a whole number, not negative',
  (value) => Number.isInteger(value) && Number(value) >= 0,
);
/** A valid `Date`. */
export const date = shape('a valid Date', (value) => value instanceof Date && !Number.isNaN(value.getTime()));
/** A valid id: 1 to 512 characters. */
export const id = shape(
  'a string of 1 to 512 characters',
  (value) => typeof value === 'string' && value !== '' && [...value].length <= 512,
);

/** One of these strings. */
export function oneOf(...allowed: readonly string[]): Shape {
  return shape(allowed.join(' or '), (value) => allowed.includes(value as string));
}

/** Also allows `null`, which means "unknown". */
export function nullable(inner: Shape): Shape {
  return (value, path) => {
    if (value !== null) inner(value, path);
  };
}

/** Also allows a missing field. */
export function optional(inner: Shape): Shape {
  return (value, path) => {
    if (value !== undefined) inner(value, path);
  };
}

/** Also allows a missing field or `null`, which both mean "unknown". */
export const maybe = (inner: Shape): Shape => optional(nullable(inner));

/** An array whose items all have this shape. */
export function listOf(inner: Shape): Shape {
  return (value, path) => {
    if (!Array.isArray(value)) fail(path, 'an array', value);
    value.forEach((item, index) => {
      inner(item, `${path}[${index}]`);
    });
  };
}

/** An object or a function, whatever its members are. */
export const object = shape('an object', (value) => typeof value === 'object' && !Array.isArray(value));
export const callable = shape('a function', (value) => typeof value === 'function');

/** An object of counts, with any names. */
export const countsByName: Shape = (value, path) => {
  if (!isRecord(value)) fail(path, 'an object of counts', value);
  for (const [name, tasks] of Object.entries(value)) count(tasks, `${path}.${name}`);
};

/** An array of objects with these fields. */
export const recordsOf = (fields: Readonly<Record<string, Shape>>): Shape => listOf(record(fields));

/**
 * An object with these fields. Any other field fails: it is most likely misspelt, and no route would show it.
 */
export function record(fields: Readonly<Record<string, Shape>>): Shape {
  return (value, path) => {
    if (!isRecord(value)) fail(path, 'an object', value);
    for (const key of Object.keys(value)) {
      if (!Object.hasOwn(fields, key)) fail(`${path}.${key}`, 'no field of this name (never shown)', key);
    }
    for (const [key, inner] of Object.entries(fields)) {
      inner((value as Readonly<Record<string, unknown>>)[key], `${path}.${key}`);
    }
  };
}
