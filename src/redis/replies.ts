/** Converts replies of Redis to the expected type: clients differ in their types, and a key may hold anything. */
import { RedisError } from './problems.ts';
import type { Outcome } from './reader.ts';

/**
 * The reply to a command about one key; `null` if the key is of another type.
 *
 * @throws RedisError with any other problem of the command
 */
export function replyOfKey({ reply, problem }: Outcome): unknown {
  if (problem === null || problem.code === 'WRONGTYPE') return reply;
  throw new RedisError(problem);
}

/** A text; `null` for anything else. */
export function asText(reply: unknown): string | null {
  return typeof reply === 'string' ? reply : typeof reply === 'number' ? String(reply) : null;
}

/** A whole number, as LLEN and ZCARD answer; 0 for anything else. */
export function asCount(reply: unknown): number {
  const count = asNumber(reply);
  return count === null || count < 0 ? 0 : Math.floor(count);
}

/** A finite number, also one that is written as text; `null` for anything else. */
export function asNumber(reply: unknown): number | null {
  if (typeof reply === 'number') return Number.isFinite(reply) ? reply : null;
  if (typeof reply !== 'string' || reply.trim() === '') return null;
  const value = Number(reply);
  return Number.isFinite(value) ? value : null;
}

/** The texts in a list; empty for anything else. */
export function asTexts(reply: unknown): readonly string[] {
  return Array.isArray(reply) ? reply.filter((item) => typeof item === 'string') : [];
}

/** A list of texts with `null` for missing fields, as HMGET replies; empty for anything else. */
export function asFields(reply: unknown): readonly (string | null)[] {
  return Array.isArray(reply) ? reply.map(asText) : [];
}

/** A member of a sorted set. */
interface Scored {
  readonly member: string;
  readonly score: number;
}

/** What a command with WITHSCORES answers: pairs in RESP 3, one flat list in RESP 2. */
export function asScored(reply: unknown): readonly Scored[] {
  if (!Array.isArray(reply)) return [];
  const flat: readonly unknown[] = Array.isArray(reply[0]) ? reply.flat() : reply;
  const scored: Scored[] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const member = flat[index];
    const score = asNumber(flat[index + 1]);
    if (typeof member === 'string' && score !== null) scored.push({ member, score });
  }
  return scored;
}

/** What INFO says about a server, by field: Redis, or another that speaks its protocol. */
export type ServerInfo = ReadonlyMap<string, string>;

/** @param reply to INFO; no fields for any other */
export function infoOf(reply: unknown): ServerInfo {
  const lines = (asText(reply) ?? '').split(/\r?\n/);
  return new Map(
    lines.flatMap((line) => {
      const colon = line.indexOf(':');
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)] as const] : [];
    }),
  );
}

/**
 * The version of the server itself. Valkey and Dragonfly also report the version of Redis that they are compatible with.
 *
 * @returns `8.0.2` of Redis, `valkey 8.1.1` or `dragonfly 1.30.0`; `null` if INFO does not say
 */
export function versionOf(info: ServerInfo): string | null {
  const valkey = info.get('valkey_version');
  if (valkey !== undefined) return `valkey ${valkey}`;
  // As `df-v1.30.0`.
  const dragonfly = info.get('dragonfly_version');
  if (dragonfly !== undefined) return `dragonfly ${dragonfly.replace(/^df-v?/, '')}`;
  return info.get('redis_version') ?? null;
}

/** The hint for a user who may not run INFO. */
export const INFO_HIDDEN =
  "This Redis user may not read the server's version and memory policy. Run ACL SETUSER <user> +info";

/** The hint for a server that may drop what it should keep. @param what what it drops, such as `jobs` */
export function evictionHint(policy: string, what: string): string {
  return (
    `Redis drops keys when its memory is full (maxmemory-policy ${policy}), and ${what} with them. ` +
    'Run CONFIG SET maxmemory-policy noeviction, and write maxmemory-policy noeviction into redis.conf.'
  );
}
