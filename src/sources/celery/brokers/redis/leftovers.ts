/**
 * Removes what remote control writes to Redis: the reply lists and their entries in the set of bindings. Nothing may
 * stay there after a failure or a crash.
 */

import { escapeGlob } from '../../../../redis/acl.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import type { ControlAddress } from './control-address.ts';
import { controlFailureOf } from './control-failure.ts';

/** How the id of each of our reply lists begins; the time of its creation follows, in base 36. */
export const OID_PREFIX = 'express-task-monitor.';

/** A reply list lives for minutes. One that is older was left by a process that has ended. */
const ABANDONED_MS = 60 * 60_000;
/** Bounds of the search for abandoned lists: steps, and members in each. */
const SCAN_STEPS = 200;
const SCAN_COUNT = '500';
/** A worker that looked up the list before it was unbound may write to it this much later. */
const LATE_MS = 2000;
const TIMEOUT_MS = 1000;
const MOST_REMEMBERED = 100;

/** Keys that have been created and must be removed. */
export interface Leftovers {
  readonly address: ControlAddress;
  readonly commands: RedisReader;
  /** Ids of lists that could not be removed yet. */
  readonly remembered: Set<string>;
  /** Lists that are removed a second time, because a late reply may have created them again. */
  readonly timers: Map<NodeJS.Timeout, string>;
  /** Whether the Redis user may remove lists. */
  isProven: boolean;
  closed: boolean;
}

/** @param commands the connection to use */
export function createLeftovers(address: ControlAddress, commands: RedisReader): Leftovers {
  return { address, commands, remembered: new Set(), timers: new Map(), isProven: false, closed: false };
}

/**
 * To be called before a list is created. A user who may create a list but not remove it must not create one.
 *
 * @throws ControlFailure when the user may not remove lists
 */
export async function prepareRemoval(leftovers: Leftovers, oid: string, signal: AbortSignal): Promise<void> {
  const { address, commands } = leftovers;
  if (!leftovers.isProven) {
    for (const [command, ...args] of removalOf(address, oid)) {
      try {
        await commands.command([command, ...args], { signal });
      } catch (error) {
        throw controlFailureOf(error, command, address);
      }
    }
    leftovers.isProven = true;
    void removeAbandoned(leftovers);
  }
  for (const old of leftovers.remembered) await remove(leftovers, old);
}

/** Removes a list now, or once Redis is back. @param isPartial whether a reply may still arrive */
export async function removeList(leftovers: Leftovers, oid: string, isPartial: boolean): Promise<void> {
  await remove(leftovers, oid);
  if (!isPartial || leftovers.closed) return;
  const timer = setTimeout(() => {
    leftovers.timers.delete(timer);
    void remove(leftovers, oid);
  }, LATE_MS).unref();
  leftovers.timers.set(timer, oid);
}

/** Remembers a list that has to be removed. */
export function rememberList({ remembered }: Leftovers, oid: string): void {
  if (remembered.size < MOST_REMEMBERED) remembered.add(oid);
}

/** Removes everything at once. */
export async function closeLeftovers(leftovers: Leftovers): Promise<void> {
  leftovers.closed = true;
  for (const [timer, oid] of leftovers.timers) {
    clearTimeout(timer);
    rememberList(leftovers, oid);
  }
  leftovers.timers.clear();
  await Promise.all([...leftovers.remembered].map((oid) => remove(leftovers, oid)));
}

function removalOf(address: ControlAddress, oid: string) {
  return [
    ['SREM', address.bindingKey, address.member(oid)],
    ['DEL', address.replyKey(oid)],
  ] as const;
}

async function remove(leftovers: Leftovers, oid: string): Promise<void> {
  const { address, commands, remembered } = leftovers;
  try {
    await commands.commands(removalOf(address, oid), { timeoutMs: TIMEOUT_MS });
    remembered.delete(oid);
  } catch {
    rememberList(leftovers, oid);
  }
}

/** Removes keys of processes that ended while they waited for replies. */
async function removeAbandoned(leftovers: Leftovers): Promise<void> {
  const { address, commands } = leftovers;
  const pattern = `${escapeGlob(OID_PREFIX)}*`;
  let cursor = '0';
  try {
    for (let step = 0; step < SCAN_STEPS && !leftovers.closed; step += 1) {
      const reply = await commands.command(
        ['SSCAN', address.bindingKey, cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT],
        { timeoutMs: TIMEOUT_MS },
      );
      const [next, members] = reply as [string, string[]];
      for (const oid of members.map(address.oidOf)) {
        if (oid !== null && isAbandoned(oid)) {
          await commands.commands(removalOf(address, oid), { timeoutMs: TIMEOUT_MS });
        }
      }
      cursor = next;
      if (cursor === '0') return;
    }
  } catch {
    // Without the right to search, the lists of other processes stay.
  }
}

function isAbandoned(oid: string): boolean {
  const created = Number.parseInt(oid.slice(OID_PREFIX.length).split('.', 1)[0] ?? '', 36);
  return oid.startsWith(OID_PREFIX) && Date.now() - created > ABANDONED_MS;
}
