/**
 * `express-task-monitor/testing`: the contract suite for sources, a host's own too, under any test runner.
 */
export type { ContractPart, ContractSetup, SourceUnderTest } from './testing/bench.ts';
export { type SourceCase, sourceContract } from './testing/source-contract.ts';
