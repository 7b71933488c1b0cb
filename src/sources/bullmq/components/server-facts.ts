/** What Redis tells of itself. */

import type { ReadOptions, RedisReader } from '../../../redis/reader.ts';
import { asNumber, asText } from '../../../redis/replies.ts';
import { isRefused } from '../workers/worker-connections.ts';

/** What matters of a server to BullMQ; `null` where it is not told. */
export interface ServerFacts {
  readonly version: string | null;
  /** `standalone`, `cluster` or `sentinel`. */
  readonly mode: string | null;
  readonly pid: number | null;
  /** What it drops when its memory is full. Of a cluster, that of the first master that drops anything. */
  readonly maxmemoryPolicy: string | null;
  /** In bytes; 0: no limit. Of a cluster, of all its masters, as is the next. */
  readonly maxmemory: number | null;
  readonly usedMemory: number | null;
}

/** BullMQ needs this one: any other drops jobs when memory is full. */
export const SAFE_POLICY = 'noeviction';

/** @returns `null` where this user may not ask */
export async function readServerFacts(
  reader: RedisReader,
  options: ReadOptions,
): Promise<ServerFacts | null> {
  try {
    const [server, memory] = await Promise.all([
      readSection(reader, 'server', options),
      readSection(reader, 'memory', options),
    ]);
    const first = server[0] ?? new Map();
    const policies = memory.map((fields) => fields.get('maxmemory_policy') ?? null);
    return {
      version: first.get('redis_version') ?? null,
      mode: first.get('redis_mode') ?? null,
      pid: server.length > 1 ? null : asNumber(first.get('process_id')),
      maxmemoryPolicy: policies.find((policy) => policy !== SAFE_POLICY) ?? policies[0] ?? null,
      maxmemory: sumOf(memory, 'maxmemory'),
      usedMemory: sumOf(memory, 'used_memory'),
    };
  } catch (error) {
    if (isRefused(error)) return null;
    throw error;
  }
}

/** Its fields, for each master. */
async function readSection(
  reader: RedisReader,
  section: string,
  options: ReadOptions,
): Promise<readonly ReadonlyMap<string, string>[]> {
  const replies = await reader.onEachMaster(() => ['INFO', section], options);
  return replies.map(({ reply }) => {
    const lines = (asText(reply) ?? '').split(/\r?\n/);
    return new Map(
      lines.flatMap((line) => {
        const colon = line.indexOf(':');
        return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)] as const] : [];
      }),
    );
  });
}

function sumOf(sections: readonly ReadonlyMap<string, string>[], field: string): number | null {
  const values = sections.map((fields) => asNumber(fields.get(field)));
  return values.length === 0 || values.includes(null)
    ? null
    : values.reduce<number>((sum, value) => sum + Number(value), 0);
}
