/** Collects everything that the library writes to its debug channels and to the process's output. */
import { format } from 'node:util';
import debug from 'debug';
import { onTestFinished } from 'vitest';

/** Collects from now on until the test is over. @returns the lines so far */
export function captureLogs(): readonly string[] {
  const lines: string[] = [];
  const { log } = debug;
  const enabled = debug.disable();
  debug.log = (...values: unknown[]) => void lines.push(format(...values));
  debug.enable('express-task-monitor*');
  const console_ = { ...console };
  for (const name of ['log', 'info', 'warn', 'error'] as const) {
    console[name] = (...values: unknown[]) => void lines.push(format(...values));
  }
  onTestFinished(() => {
    Object.assign(console, console_);
    debug.disable();
    debug.enable(enabled);
    debug.log = log;
  });
  return lines;
}
