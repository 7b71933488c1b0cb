/** Finds secrets, each of which contains `S3CRET`, in what the library writes and returns. */
import { formatWithOptions, inspect } from 'node:util';
import createDebug from 'debug';
import { expect, onTestFinished, vi } from 'vitest';

/** Everything that this process writes, from now until the test is over. */
export function recordOutput(): readonly string[] {
  const written: string[] = [];
  const { log } = createDebug;
  createDebug.enable('express-task-monitor*');
  createDebug.log = (...values: unknown[]) => written.push(formatWithOptions({}, ...values));
  const streams = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation((chunk) => written.push(String(chunk)) > 0),
  );
  onTestFinished(() => {
    for (const stream of streams) stream.mockRestore();
    createDebug.disable();
    createDebug.log = log;
  });
  return written;
}

/** Looks also at what is not enumerable. */
export function expectNoSecret(...values: readonly unknown[]): void {
  for (const value of values) {
    expect(inspect(value, { depth: 20, showHidden: true })).not.toContain('S3CRET');
  }
}
