import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { seedOf } from './helpers/cases.ts';

// Random cases are the same in every run, and a file that wants more of them does not change the next file of its process.
fc.configureGlobal({ seed: seedOf(17) });

// The library runs inside other people's processes: whatever it lets escape is a defect of its own,
// also when the test that caused it looks at something else.
const escaped: unknown[] = [];
const note = (reason: unknown): void => void escaped.push(reason);

beforeAll(() => {
  process.on('unhandledRejection', note);
  process.on('uncaughtException', note);
});

afterEach(() => {
  expect(escaped.splice(0)).toEqual([]);
});

afterAll(() => {
  process.off('unhandledRejection', note);
  process.off('uncaughtException', note);
});
