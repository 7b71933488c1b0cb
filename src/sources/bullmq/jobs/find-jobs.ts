/** Finds the set that a job is in, as BullMQ itself does (bullmq, commands/getStateV2). */

import { asCount, asNumber } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { JobRef, QueueCommand } from '../access/queue-reads.ts';
import { factsCommand, factsOf, type JobFacts } from './job-facts.ts';
import { type KnownJob, knownJob } from './job-row.ts';
import { JOB_SETS, type JobSet, type SetPart, withPaused } from './job-sets.ts';

/** How far a list is searched from each end: less than a millisecond of Redis' time. */
const LONGEST_SEARCH = 20_000;

const SORTED: readonly SetPart[] = ['delayed', 'prioritized', 'waiting-children', 'failed', 'completed'];
const ENDED: readonly SetPart[] = ['failed', 'completed'];
const OPEN: readonly SetPart[] = ['delayed', 'prioritized', 'waiting-children', 'active'];
const LISTS: readonly SetPart[] = ['paused', 'wait', 'active'];

function setOf(part: SetPart): JobSet {
  const set = JOB_SETS.find((candidate) => candidate.part === part);
  if (set === undefined) throw new RangeError(`There is no set ${part}.`);
  return set;
}

/**
 * Reads jobs by their ids, with the sets that they are in.
 *
 * @param isSure whether to search waiting lists, too; otherwise a job that is nowhere else counts as waiting
 * @returns `null` for a job that does not exist, or is in no set
 */
export async function findJobs(
  access: QueueAccess,
  refs: readonly JobRef[],
  isSure: boolean,
): Promise<readonly (KnownJob | null)[]> {
  const replies = await access.read(refs.map(({ queue, id }) => factsCommand(queue, id)));
  const facts = replies.map(factsOf);
  const likely = await findInSets(access, refs, facts, ({ finishedAt }) =>
    finishedAt === null ? OPEN : ENDED,
  );
  // The job has moved meanwhile, or its fields and its set disagree.
  const rest = refs.map((_, index) => (likely[index] === null ? (facts[index] ?? null) : null));
  const others = await findInSets(access, refs, rest, () => (isSure ? [...LISTS, ...SORTED] : SORTED));
  const lost = refs.filter((_, index) => rest[index] !== null && others[index] === null);
  const waiting = new Set(isSure ? await deepInLists(access, lost) : lost);
  const jobs = refs.map((ref, index) => {
    const known = facts[index] ?? null;
    if (known === null) return null;
    const found =
      likely[index] ?? others[index] ?? (waiting.has(ref) ? { part: 'wait' as const, score: null } : null);
    return found === null
      ? null
      : knownJob(
          { ...ref, set: setOf(found.part), score: found.score },
          { facts: known, values: null, size: null },
        );
  });
  const found = await withPaused(
    access.read,
    jobs.filter((job) => job !== null),
  );
  let next = 0;
  return jobs.map((job) => (job === null ? null : (found[next++] ?? null)));
}

/** Jobs whose waiting lists are too long to be searched whole. */
async function deepInLists(access: QueueAccess, refs: readonly JobRef[]): Promise<readonly JobRef[]> {
  const lengths = await access.read(
    refs.flatMap(({ queue }) =>
      (['wait', 'paused'] as const).map((part) => ({ queue, command: ['LLEN', queue.key(part)] as const })),
    ),
  );
  const isDeep = (reply: unknown): boolean => asCount(reply) > 2 * LONGEST_SEARCH;
  return refs.filter((_, index) => isDeep(lengths[2 * index]) || isDeep(lengths[2 * index + 1]));
}

/** The set that holds a job. */
interface FoundIn {
  readonly part: SetPart;
  readonly score: number | null;
}

/** @param facts `null` for a job that is not searched */
async function findInSets(
  access: QueueAccess,
  refs: readonly JobRef[],
  facts: readonly (JobFacts | null)[],
  partsOf: (facts: JobFacts) => readonly SetPart[],
): Promise<readonly (FoundIn | null)[]> {
  const asked = refs.map((ref, index) => {
    const known = facts[index] ?? null;
    const parts = known === null ? [] : partsOf(known);
    return { ref, parts, commands: parts.map((part) => commandsOf(ref, part)) };
  });
  const replies = await access.read(asked.flatMap(({ commands }) => commands.flat()));
  let next = 0;
  return asked.map(({ parts, commands }) => {
    let holder: FoundIn | null = null;
    for (const [index, part] of parts.entries()) {
      const own = (commands[index] ?? []).map(() => asNumber(replies[next++]));
      const found = own.find((value) => value !== null) ?? null;
      // If two sets have it, the later one counts: the job moved there while they were read.
      if (found !== null) holder = { part, score: SORTED.includes(part) ? found : null };
    }
    return holder;
  });
}

function commandsOf({ queue, id }: JobRef, part: SetPart): readonly QueueCommand[] {
  const key = queue.key(part);
  if (SORTED.includes(part)) return [{ queue, command: ['ZSCORE', key, id] }];
  const most = String(LONGEST_SEARCH);
  return [
    { queue, command: ['LPOS', key, id, 'RANK', '-1', 'MAXLEN', most] },
    { queue, command: ['LPOS', key, id, 'MAXLEN', most] },
  ];
}
