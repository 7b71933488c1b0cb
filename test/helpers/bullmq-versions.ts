import * as bullmq6 from 'bullmq';
import * as bullmq5 from 'bullmq5';
import { firstOf } from './cases.ts';

/** The versions of BullMQ that are tested, each with what its package exports. */
export const BULLMQ_VERSIONS: readonly { readonly label: string; readonly bullmq: typeof bullmq6 }[] = [
  { label: 'BullMQ 6', bullmq: bullmq6 },
  { label: 'BullMQ 5', bullmq: bullmq5 as unknown as typeof bullmq6 },
];

/** The newest one in `npm test`, and the others in the long tests. */
export const SAMPLED_VERSIONS: typeof BULLMQ_VERSIONS = firstOf(BULLMQ_VERSIONS);
