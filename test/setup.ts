import { afterEach, beforeAll, expect } from 'vitest';

// The library runs inside other people's processes: whatever it lets escape is a defect of its own,
// also when the test that caused it looks at something else.
const escaped: unknown[] = [];

beforeAll(() => {
  process.on('unhandledRejection', (reason) => escaped.push(reason));
  process.on('uncaughtException', (error) => escaped.push(error));
});

afterEach(() => {
  expect(escaped.splice(0)).toEqual([]);
});
