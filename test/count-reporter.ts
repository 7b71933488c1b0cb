/** Writes what `.ci/run` counts: each test with its outcome, and what failed without being a test. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

export class CountReporter implements Reporter {
  constructor(private readonly path: string) {}

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const files = modules.map((module) => ({
      path: module.relativeModuleId,
      hasFailed: module.state() === 'failed',
      tests: [...module.children.allTests()].map((test) => ({
        title: test.fullName,
        outcome: test.result().state,
      })),
    }));
    mkdirSync(dirname(this.path), { recursive: true });
    writeFileSync(this.path, JSON.stringify({ files, errors: unhandled.map(({ message }) => message) }));
  }
}
