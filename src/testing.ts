/**
 * `express-task-monitor/testing`: the contract suite for sources, including a host's own, for any test
 * runner.
 */
export type { ContractPart, ContractSetup, SourceUnderTest } from './testing/bench.ts';
export { type SourceCase, sourceContract } from './testing/source-contract.ts';
