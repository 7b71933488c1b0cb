/** Sees to it that nothing of remote control stays in Redis: not behind a failure, nor behind a crash. */

import type { RedisReader } from '../../../redis/reader.ts';
import { escapeGlob } from '../brokers/redis/channels.ts';
import type { ControlAddress } from './address.ts';
import { failureOf } from './failure.ts';

/** How every reply list of ours begins; the time of its making follows, in base 36. */
export const OID_PREFIX = 'express-task-monitor.';

/** A reply list lives for minutes; one that is older than this was left by a process that ended. */
const ABANDONED_MS = 60 * 60_000;
/** Most steps of looking for such ones, of that many members each. */
const SCAN_STEPS = 200;
const SCAN_COUNT = '500';
/** A worker that had looked up the list before it was unbound may write to it just behind. */
const LATE_MS = 2000;
const TIMEOUT_MS = 1000;
const MOST_REMEMBERED = 100;

/** Removes reply lists and their bindings. */
export interface Leftovers {
  /** To be called before a list is made: makes sure that it can be removed again. */
  prepare(oid: string, signal: AbortSignal): Promise<void>;
  /** Removes a list, or will when Redis is back. @param isPartial whether a reply may still come */
  remove(oid: string, isPartial: boolean): Promise<void>;
  /** Remembers to remove a list. */
  add(oid: string): void;
  close(): Promise<void>;
}

/** @param commands the connection to use */
export function createLeftovers(address: ControlAddress, commands: RedisReader): Leftovers {
  const remembered = new Set<string>();
  const timers = new Map<NodeJS.Timeout, string>();
  let isProven = false;
  let closed = false;

  async function unbind(oid: string): Promise<void> {
    await commands.commands(
      [
        ['SREM', address.bindingKey, address.member(oid)],
        ['DEL', address.replyKey(oid)],
      ],
      { timeoutMs: TIMEOUT_MS },
    );
  }

  function add(oid: string): void {
    if (remembered.size < MOST_REMEMBERED) remembered.add(oid);
  }

  async function remove(oid: string): Promise<void> {
    try {
      await unbind(oid);
      remembered.delete(oid);
    } catch {
      add(oid);
    }
  }

  function again(oid: string): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      void remove(oid);
    }, LATE_MS).unref();
    timers.set(timer, oid);
  }

  /** Whoever may make a list but not remove it must not make one. */
  async function prove(oid: string, signal: AbortSignal): Promise<void> {
    for (const [command, key, ...member] of [
      ['SREM', address.bindingKey, address.member(oid)],
      ['DEL', address.replyKey(oid)],
    ] as const) {
      try {
        await commands.command([command, key, ...member], { signal });
      } catch (error) {
        throw failureOf(error, command, address);
      }
    }
    isProven = true;
    void removeAbandoned();
  }

  /** What processes left behind that ended while they waited for replies. */
  async function removeAbandoned(): Promise<void> {
    const pattern = `${escapeGlob(OID_PREFIX)}*`;
    let cursor = '0';
    try {
      for (let step = 0; step < SCAN_STEPS && !closed; step += 1) {
        const reply = await commands.command(
          ['SSCAN', address.bindingKey, cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT],
          { timeoutMs: TIMEOUT_MS },
        );
        const [next, members] = reply as [string, string[]];
        for (const member of members) {
          const oid = address.oidOf(member);
          if (oid !== null && isAbandoned(oid)) await unbind(oid);
        }
        cursor = next;
        if (cursor === '0') return;
      }
    } catch {
      // Without the right to look, what others left stays.
    }
  }

  return {
    async prepare(oid, signal) {
      if (!isProven) await prove(oid, signal);
      for (const old of remembered) await remove(old);
    },
    async remove(oid, isPartial) {
      await remove(oid);
      if (isPartial && !closed) again(oid);
    },
    add,
    async close() {
      closed = true;
      for (const [timer, oid] of timers) {
        clearTimeout(timer);
        add(oid);
      }
      timers.clear();
      await Promise.all([...remembered].map(remove));
    },
  };
}

function isAbandoned(oid: string): boolean {
  const made = Number.parseInt(oid.slice(OID_PREFIX.length).split('.', 1)[0] ?? '', 36);
  return oid.startsWith(OID_PREFIX) && Date.now() - made > ABANDONED_MS;
}
