/** Reads version and memory settings from INFO. */

import type { ReadOptions, RedisReader } from '../../../redis/reader.ts';
import { asNumber } from '../../../redis/replies.ts';
import { infoOf, type ServerInfo, versionOf } from '../../../redis/server-info.ts';
import { isRefused } from '../workers/worker-connections.ts';

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
export const SAFE_POLICY = 'noeviction';

/** @returns `null` if this user may not run INFO */
export async function readServerFacts(
  reader: RedisReader,
  options: ReadOptions,
): Promise<ServerFacts | null> {
  try {
    const [server, memory] = await Promise.all([
      readSection(reader, 'server', options),
      readSection(reader, 'memory', options),
    ]);
    const first: ServerInfo = server[0] ?? new Map();
    const policies = memory.map((fields) => fields.get('maxmemory_policy') ?? null);
    return {
      version: versionOf(first),
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

/** The fields of a section of INFO, for each master. */
async function readSection(
  reader: RedisReader,
  section: string,
  options: ReadOptions,
): Promise<readonly ServerInfo[]> {
  const replies = await reader.onEachMaster(() => ['INFO', section], options);
  return replies.map(({ reply }) => infoOf(reply));
}

function sumOf(sections: readonly ServerInfo[], field: string): number | null {
  const values = sections.map((fields) => asNumber(fields.get(field)));
  return values.length === 0 || values.includes(null)
    ? null
    : values.reduce<number>((sum, value) => sum + Number(value), 0);
}
