import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const files = readdirSync(new URL('./', import.meta.url)).filter((name) => name.endsWith('.test.ts'));

describe('the fault table', () => {
  it('leaves out no case but for a service that is not installed', () => {
    const strays = files
      .filter((name) => name !== 'table.test.ts')
      .flatMap((name) => {
        const text = readFileSync(new URL(name, import.meta.url), 'utf8');
        // A test beside `faultCase` would be neither measured nor watched.
        const beside = text.matchAll(/(?<![.\w])(?:it|test|describe)(?:\.\w+)*\(/g);
        const left = text.matchAll(/\.(?:skip|only|todo|runIf|skipIf)\b|\bmissing: (?!\w+Missing\b)/g);
        return [...beside, ...left].map(([found]) => `${name}: ${found}`);
      });
    expect(strays).toEqual([]);
  });
});
