import { describe, expect, it } from 'vitest';
import { createCoverage } from '../../src/history/memory/coverage.ts';

describe('coverage', () => {
  it('is whole where every part of a span was seen by somebody', () => {
    const coverage = createCoverage(100);
    expect(coverage.isWhole(50, 100)).toBe(false);
    expect(coverage.addSeen(60, 90)).toBe(true);
    expect(coverage.addSeen(60, 90)).toBe(false);
    expect([coverage.isWhole(60, 90), coverage.isWhole(60, 95), coverage.isWhole(100, 200)]).toEqual([
      true,
      false,
      true,
    ]);
    coverage.addSeen(10, 50);
    expect(coverage.isWhole(10, 60)).toBe(false);
    coverage.addSeen(45, 95);
    expect([coverage.isWhole(10, 94), coverage.isWhole(10, 200)]).toEqual([true, false]);
    coverage.addSeen(94, 101);
    expect(coverage.isWhole(10, 200)).toBe(true);
    // A gap of a moment, and one in the middle of which another instance heard.
    coverage.addGap(150, 150);
    coverage.addGap(160, 190);
    coverage.addSeen(140, 170);
    expect([coverage.isWhole(10, 169), coverage.isWhole(10, 171), coverage.isWhole(191, 200)]).toEqual([
      true,
      false,
      true,
    ]);
  });
});
