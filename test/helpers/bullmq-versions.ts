import * as bullmq6 from 'bullmq';
import * as bullmq5 from 'bullmq5';
import { ALL_CASES } from './cases.ts';

/** The versions of BullMQ that are tested, each with what its package exports. */
export const BULLMQ_VERSIONS: readonly { readonly label: string; readonly bullmq: typeof bullmq6 }[] = [
  { label: 'BullMQ 6', bullmq: bullmq6 },
  { label: 'BullMQ 5', bullmq: bullmq5 as unknown as typeof bullmq6 },
];

/** All versions in the long tests, and the newest one in `npm test`. */
export const SAMPLED_VERSIONS = ALL_CASES ? BULLMQ_VERSIONS : BULLMQ_VERSIONS.slice(0, 1);
