/** Parent, root, group and chord of a task: what its messages tell, and what relations tell where they do not. */

import type { TaskChange } from '../history.ts';
import type { Roots } from '../index/roots.ts';
import { FACT, type Records } from '../table/records.ts';
import type { RelationStore } from '../table/relation-store.ts';
import type { Relatives } from './facts.ts';

/** Places tasks among their relatives. */
export interface Lineage {
  /**
   * Takes parent and root. The earliest message that opens a run decides, since a retry names the task
   * itself as its parent.
   *
   * @param isWeak less than a message that opens a run
   */
  take(
    slot: number,
    told: { readonly [Field in 'parentId' | 'rootId' | 'retries']?: TaskChange[Field] | undefined },
    isWeak: boolean,
    isEarliest: boolean,
  ): void;
  /** @param isTold by a message of the task itself, which counts more than a relation. @returns whether it is another now */
  setGroup(slot: number, group: string, isTold: boolean): boolean;
  setChord(slot: number, body: string, isTold: boolean): boolean;
  /** Takes over what relations tell of a task. @returns whether something is another now */
  place(slot: number): boolean;
}

/** @param relations what is told of ids beside the tasks' own messages */
export function createLineage(
  records: Records,
  relatives: Relatives,
  relations: RelationStore,
  roots: Roots,
): Lineage {
  function setParent(slot: number, parent: string | null): void {
    const old = records.parents[slot] ?? null;
    if (parent === old) return;
    if (old !== null) relatives.byParent.remove(old, slot);
    records.parents[slot] = parent;
    if (parent !== null) relatives.byParent.add(parent, slot);
  }

  /** The id as the table of tasks holds it: a relative's id is stored once. */
  function shared(id: string): string {
    const slot = records.slots.get(id);
    return slot === undefined ? id : (records.ids[slot] as string);
  }

  function setGroup(slot: number, group: string, isTold: boolean): boolean {
    const facts = records.facts[slot] as number;
    if (!isTold && (facts & FACT.GROUP_TOLD) !== 0) return false;
    if (isTold) records.facts[slot] = facts | FACT.GROUP_TOLD;
    const more = records.extra(slot);
    if (more.groupId === group) return false;
    if (more.groupId !== null) relatives.byGroup.remove(more.groupId, slot);
    more.groupId = group;
    relatives.byGroup.add(group, slot);
    return true;
  }

  function setChord(slot: number, body: string, isTold: boolean): boolean {
    const facts = records.facts[slot] as number;
    if (!isTold && (facts & FACT.CHORD_TOLD) !== 0) return false;
    if (isTold) records.facts[slot] = facts | FACT.CHORD_TOLD;
    const more = records.extra(slot);
    if (more.chordId === body) return false;
    if (more.chordId !== null) relatives.byChord.remove(more.chordId, slot);
    more.chordId = body;
    relatives.byChord.add(body, slot);
    return true;
  }

  return {
    take(slot, told, isWeak, isEarliest) {
      const facts = records.facts[slot] as number;
      const fromEvent = (facts & FACT.LINEAGE_EVENT) !== 0;
      if (isWeak ? fromEvent : fromEvent && !isEarliest) return;
      if (!isWeak) records.facts[slot] = facts | FACT.LINEAGE_EVENT;
      const id = records.ids[slot] as string;
      const { parentId, rootId } = told;
      if (parentId !== undefined) {
        const parent = parentId === null || parentId === id ? null : shared(parentId);
        // What was not heard takes back nothing.
        if (parent !== null || !isWeak) setParent(slot, parent);
        // A retry names the task itself only where there was no parent; `replace()` does so in any case.
        const isNone = parentId === null || (parent === null && (told.retries ?? 0) > 0);
        if (isNone) records.facts[slot] = (records.facts[slot] as number) | FACT.NO_PARENT;
      }
      if (rootId !== undefined && (rootId !== null || !isWeak)) {
        roots.told(slot, rootId === null || rootId === id ? rootId && id : shared(rootId));
      }
      roots.derive(slot);
    },
    setGroup,
    setChord,
    place(slot) {
      const id = records.ids[slot] as string;
      let group: string | null = null;
      let body: string | null = null;
      // Of several the one that sorts first, so that the order in which they are told does not matter.
      for (const { parent, relation } of relations.to(id)) {
        if (relation === 'group' && (group === null || parent < group)) group = parent;
      }
      for (const { child, relation } of relations.from(id)) {
        if (relation === 'chord' && (body === null || child < body)) body = child;
      }
      const isGrouped = group !== null && setGroup(slot, group, false);
      const isHeader = body !== null && setChord(slot, body, false);
      roots.derive(slot);
      return isGrouped || isHeader;
    },
  };
}
