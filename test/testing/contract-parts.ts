import type { ContractPart } from '../../src/testing.ts';

/** Every part that a source may have. */
export const ALL_PARTS: readonly ContractPart[] = [
  'tasks',
  'tasks.tree',
  'tasks.stats',
  'workers',
  'events',
  'schedules',
  'queues',
  'health',
  'components',
  'history',
];

/** Every part but these. */
export function partsWithout(...missing: readonly ContractPart[]): readonly ContractPart[] {
  return ALL_PARTS.filter((part) => !missing.includes(part));
}
