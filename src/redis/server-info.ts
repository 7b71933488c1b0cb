/** What INFO says about a server: Redis, or another that speaks its protocol. */
import { asText } from './replies.ts';

/** The fields of a section of INFO. */
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
