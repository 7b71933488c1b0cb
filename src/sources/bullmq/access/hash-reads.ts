/**
 * Reads fields of many hashes at once. A script of Redis 7 reads those of a hundred jobs in one command; where the user
 * may not run scripts, or Redis is older, each hash takes a command.
 */
import { asFields } from '../../../redis/replies.ts';
import { addTo } from '../../../values.ts';
import type { QueueAccess } from './queue-access.ts';
import { type JobRef, keyCommand, type QueueCommand } from './queue-reads.ts';

/** Fields that Redis examines for the size of a hash; it would estimate the rest. BullMQ writes about 30 to a job. */
export const MOST_FIELDS = 1_000;

/**
 * KEYS are hashes. ARGV: the greatest size of a hash whose texts are read, and of all such hashes, in bytes; the count of
 * fields that are always read; their names; the names of the texts. A row has the values of the fields, and then those of
 * the texts, unless the hash is too large. Redis itself refuses any write in it.
 */
const READ_HASHES = `
local largest, left, fields = tonumber(ARGV[1]), tonumber(ARGV[2]), 3 + tonumber(ARGV[3])
local rows = {}
for at, key in ipairs(KEYS) do
  local last = #ARGV
  if last > fields then
    local size = redis.call('MEMORY', 'USAGE', key, 'SAMPLES', ${MOST_FIELDS}) or 0
    if size > largest or size > left then last = fields else left = left - size end
  end
  rows[at] = redis.call('HMGET', key, unpack(ARGV, 4, last))
end
return rows`;

/**
 * Hashes per script, which then takes Redis less than a millisecond: a usual page and the row behind it. Fewer than the
 * least take a command each.
 */
const MOST_AT_ONCE = 128;
const LEAST_AT_ONCE = 4;

/** Up to this size or length, in bytes, the texts of a job are always read. */
export const ALWAYS_READ = 65_536;
/** Bytes of texts that are read at once. */
export const BATCH_BYTES = 2_097_152;

/** A hash, and which of its texts to read. */
interface HashRequest {
  readonly job: JobRef;
  readonly texts: readonly string[];
}

/**
 * Reads fields and short texts of hashes by script.
 *
 * @param fields at least one, all of them short
 * @returns per request, the values of the fields and then of the texts; without the texts if they are not short; `null`
 *   if there is no script, or a key is no hash. All fields of a job that is gone are `null`
 */
export async function readByScript(
  { read }: Pick<QueueAccess, 'read'>,
  requests: readonly HashRequest[],
  fields: readonly string[],
): Promise<readonly (readonly (string | null)[] | null)[]> {
  const rows: (readonly (string | null)[] | null)[] = new Array(requests.length).fill(null);
  const scripts = scriptsFor(requests, fields);
  const replies = await read(scripts.map(({ command }) => command));
  for (const [at, { indexes }] of scripts.entries()) {
    const reply = replies[at];
    if (!Array.isArray(reply)) continue;
    for (const [row, index] of indexes.entries()) rows[index] = asFields(reply[row]);
  }
  return rows;
}

/** The scripts, each with the indexes of its requests: one is about one queue, with the same texts of each job. */
function scriptsFor(
  requests: readonly HashRequest[],
  fields: readonly string[],
): readonly { readonly command: QueueCommand; readonly indexes: readonly number[] }[] {
  const groups = new Map<string, number[]>();
  for (const [index, { job, texts }] of requests.entries())
    addTo(groups, [job.queue.name, ...texts].join(':'), index);
  const args = [ALWAYS_READ, BATCH_BYTES, fields.length].map(String);
  return [...groups.values()].flatMap((group) => {
    const { job, texts } = requests[group[0] ?? 0] as HashRequest;
    const count = group.length < LEAST_AT_ONCE ? 0 : Math.ceil(group.length / MOST_AT_ONCE);
    return Array.from({ length: count }, (_, part) => {
      const indexes = group.slice(part * MOST_AT_ONCE, (part + 1) * MOST_AT_ONCE);
      const keys = indexes.map((index) => job.queue.key((requests[index] as HashRequest).job.id));
      const command = ['EVAL_RO', READ_HASHES, String(keys.length), ...keys, ...args, ...fields, ...texts];
      return { command: { queue: job.queue, command, isOptional: true, weight: keys.length }, indexes };
    });
  });
}

/**
 * Reads fields and short texts of hashes.
 *
 * @returns per request, the values of the fields, and then of the texts if they are short and there is a script. All are
 *   `null` or missing for a job that is gone
 */
export async function readHashes(
  access: Pick<QueueAccess, 'read'>,
  requests: readonly HashRequest[],
  fields: readonly string[],
): Promise<readonly (readonly (string | null)[])[]> {
  const rows = await readByScript(access, requests, fields);
  const rest = requests.filter((_, index) => rows[index] === null);
  const replies = await access.read(
    rest.map(({ job: { queue, id } }) => keyCommand(queue, 'HMGET', id, ...fields)),
  );
  const others = replies.map(asFields).values();
  return rows.map((row) => row ?? others.next().value ?? []);
}

/** Reads fields of jobs. All fields of a job that is gone are `null` or missing. */
export function readFields(
  access: Pick<QueueAccess, 'read'>,
  jobs: readonly JobRef[],
  fields: readonly string[],
): Promise<readonly (readonly (string | null)[])[]> {
  return readHashes(
    access,
    jobs.map((job) => ({ job, texts: [] })),
    fields,
  );
}
