/** Hints: problems and hidden data, and what to change; and the facts about the server that they judge. */
import {
  asNumber,
  evictionHint,
  INFO_HIDDEN,
  infoOf,
  type ServerInfo,
  versionOf,
} from '../../../redis/replies.ts';
import type { RedisServer } from '../access/queue-access.ts';
import { MOST_ENTRIES } from '../schedules/schedules.ts';
import { isRefused, type WorkersByQueue } from '../workers/worker-connections.ts';
import type { QueueReport } from './queue-figures.ts';

/** The data that hints are derived from. */
interface HintInput {
  readonly queues: readonly QueueReport[];
  /** `null`: this user may not list clients. */
  readonly workers: WorkersByQueue;
  /** `null`: this user may not read it. */
  readonly facts: ServerFacts | null;
}

/** Most queues named by one rule. */
const MOST_QUEUES = 5;

/** The members of a component's `config`: sentences that say what to change, the most serious first, and their codes. */
export function hintsFor(input: HintInput): { readonly hints: string[]; readonly hint_codes: string[] } {
  const { queues } = input;
  const found: Readonly<Record<string, readonly string[]>> = {
    eviction_policy: evictionHints(input),
    no_workers: queueHints(queues, isUnattended, unattended),
    stalled_jobs: queueHints(queues, ({ stalled }) => stalled > 0, stalledJobs),
    paused: queueHints(queues, ({ isPaused, waiting }) => isPaused && waiting > 0, paused),
    missing_right: accessHints(input),
    many_schedules: scheduleHints(input),
  };
  return {
    hints: Object.values(found).flat(),
    hint_codes: Object.entries(found).flatMap(([code, sentences]) => sentences.map(() => code)),
  };
}

/** The hint for a user who may not read the queues themselves. */
export const QUEUES_HIDDEN =
  'This Redis user may not read the queues. Run ACL SETUSER <user> ~bull:* +@read, with the prefix of the queues.';

function evictionHints({ facts }: HintInput): readonly string[] {
  const policy = facts?.maxmemoryPolicy ?? SAFE_POLICY;
  if (policy === SAFE_POLICY) return [];
  return [evictionHint(policy, 'jobs')];
}

/** Whether jobs wait without any worker: none is connected, and no job is active. */
function isUnattended({ waiting, consumers, reserved, stalled }: QueueReport): boolean {
  return waiting > 0 && consumers === 0 && reserved <= stalled;
}

function unattended({ name, waiting }: QueueReport): string {
  return (
    `No worker is connected to the queue ${quoted(name)}, where ${jobs(waiting)} ${waiting === 1 ? 'waits' : 'wait'}. ` +
    `Start one: new Worker(${quoted(name)}, processor, { connection }).`
  );
}

function stalledJobs({ name, stalled, isWhole, consumers }: QueueReport): string {
  const remedy =
    consumers === 0
      ? `Start one; it puts them back: new Worker(${quoted(name)}, processor, { connection }).`
      : 'Workers put them back within their stalledInterval (default 30 s). If they stay, a processor blocks the ' +
        'event loop: give the Worker a longer lockDuration, or a file as its processor.';
  return `The queue ${quoted(name)} has ${isWhole ? '' : 'at least '}${jobs(stalled)} stalled: taken by a worker that then lost its lock. ${remedy}`;
}

function paused({ name, waiting }: QueueReport): string {
  return (
    `The queue ${quoted(name)} is paused, and ${jobs(waiting)} ${waiting === 1 ? 'waits' : 'wait'}. ` +
    `Run await new Queue(${quoted(name)}, { connection }).resume().`
  );
}

function accessHints({ workers, facts }: HintInput): readonly string[] {
  return [
    ...(workers === null
      ? [
          'This Redis user may not list clients, so workers are not shown. Run ACL SETUSER <user> +client|list',
        ]
      : []),
    ...(facts === null ? [INFO_HIDDEN] : []),
  ];
}

function scheduleHints({ queues }: HintInput): readonly string[] {
  const count = queues.reduce((sum, { schedules }) => sum + schedules, 0);
  if (count <= MOST_ENTRIES) return [];
  return [
    `There are ${count} schedules, and only ${MOST_ENTRIES} are listed: those that are due first in large queues. ` +
      "Make a separate source for such a queue: bullmqSources({ name: 'other', queues }).",
  ];
}

function queueHints(
  queues: readonly QueueReport[],
  isConcerned: (queue: QueueReport) => boolean,
  sentence: (queue: QueueReport) => string,
): readonly string[] {
  const concerned = queues.filter(isConcerned);
  const rest = concerned.length - MOST_QUEUES;
  const sentences = concerned.slice(0, MOST_QUEUES).map(sentence);
  return rest > 0 ? [...sentences, `The same applies to ${rest} more queues.`] : sentences;
}

function jobs(count: number): string {
  return count === 1 ? '1 job' : `${count} jobs`;
}

/** As a JavaScript string. */
function quoted(name: string): string {
  return JSON.stringify(name);
}

/** The settings of a server that BullMQ needs; `null` if INFO does not report them. */
export interface ServerFacts {
  readonly version: string | null;
  /** `standalone`, `cluster` or `sentinel`. */
  readonly mode: string | null;
  readonly pid: number | null;
  /** Eviction policy. For a cluster, that of the first master that may evict jobs. */
  readonly maxmemoryPolicy: string | null;
  /** In bytes; 0: no limit. For a cluster, the sum over its masters, as for `usedMemory`. */
  readonly maxmemory: number | null;
  readonly usedMemory: number | null;
}

/** The policy that BullMQ needs: any other evicts jobs when memory is full. */
const SAFE_POLICY = 'noeviction';

/** @returns `null` if this user may not run INFO */
export async function readServerFacts(server: RedisServer): Promise<ServerFacts | null> {
  try {
    const [facts, memory] = await Promise.all([readSection(server, 'server'), readSection(server, 'memory')]);
    const first: ServerInfo = facts[0] ?? new Map();
    const policies = memory.map((fields) => fields.get('maxmemory_policy') ?? null);
    return {
      version: versionOf(first),
      // Valkey 9 has the second name.
      mode: first.get('redis_mode') ?? first.get('server_mode') ?? null,
      pid: facts.length > 1 ? null : asNumber(first.get('process_id')),
      maxmemoryPolicy: policies.find((policy) => policy !== SAFE_POLICY) ?? policies[0] ?? null,
      maxmemory: sumOf(memory, 'maxmemory'),
      usedMemory: sumOf(memory, 'used_memory'),
    };
  } catch (error) {
    if (isRefused(error)) return null;
    throw error;
  }
}

/** The fields of a section of INFO, for each master. */
async function readSection(server: RedisServer, section: string): Promise<readonly ServerInfo[]> {
  const replies = await server.onEachMaster(['INFO', section]);
  return replies.map(({ reply }) => infoOf(reply));
}

function sumOf(sections: readonly ServerInfo[], field: string): number | null {
  const values = sections.map((fields) => asNumber(fields.get(field)));
  return values.length === 0 || values.includes(null)
    ? null
    : values.reduce<number>((sum, value) => sum + Number(value), 0);
}
