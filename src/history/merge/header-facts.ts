/** Facts of a task without anything having happened to it: they fill what its own messages left open. */
import type { TaskTextField } from '../../model.ts';
import type { TaskFacts } from '../history.ts';
import type { TaskIndex } from '../index/task-index.ts';
import { FACT, type Records } from '../table/records.ts';
import type { Lineage } from './lineage.ts';
import { keepStamps } from './stamps.ts';
import { createTexts, moveLabel } from './texts.ts';

/** @returns a function that fills in, and says whether something is another now */
export function createHeaderFacts(records: Records, index: TaskIndex, lineage: Lineage) {
  const texts = createTexts(records);

  return function fill(slot: number, facts: TaskFacts): boolean {
    const isLabelled = fillLabels(slot, facts);
    const isFilled = fillTexts(slot, facts);
    const isTimed = fillTimes(slot, facts);
    // The order by eta goes by it.
    if (isTimed) index.touch(slot);
    const isPlaced = fillLineage(slot, facts);
    const isMarked = fillMarks(slot, facts);
    return isLabelled || isFilled || isTimed || isPlaced || isMarked;
  };

  function fillLabels(slot: number, { name, queue }: TaskFacts): boolean {
    const isWaiting = records.waiting[slot] !== 0;
    const known = isWaiting
      ? index.touch(slot)
      : { name: records.name[slot] as number, queue: records.queue[slot] as number };
    const takesName = typeof name === 'string' && name !== '' && known.name === 0;
    const takesQueue = typeof queue === 'string' && queue !== '' && known.queue === 0;
    if (!takesName && !takesQueue) return false;
    const pending = index.touch(slot);
    if (takesName) pending.name = moveLabel(records.names, 0, records.name[slot] as number, name);
    if (takesQueue) pending.queue = moveLabel(records.queues, 0, records.queue[slot] as number, queue);
    return true;
  }

  function fillTexts(slot: number, facts: TaskFacts): boolean {
    const { args, kwargs, truncated = [] } = facts;
    let isFilled = false;
    const take = (field: TaskTextField & ('args' | 'kwargs'), text: string | null | undefined) => {
      if (typeof text !== 'string' || records[field][slot] !== null) return;
      texts.set(records[field], slot, text);
      isFilled = true;
      if (!truncated.includes(field)) return;
      const { cut } = records.extra(slot);
      if (!cut.includes(field)) cut.push(field);
    };
    take('args', args);
    take('kwargs', kwargs);
    return isFilled;
  }

  function fillTimes(slot: number, { eta, expires }: TaskFacts): boolean {
    const known = records.extras.get(slot);
    // An event also tells that there is none.
    const isToldEta = ((records.facts[slot] as number) & FACT.ETA_EVENT) !== 0;
    const takesEta = typeof eta === 'number' && known?.eta == null && !isToldEta;
    const takesExpires = typeof expires === 'number' && known?.expires == null;
    if (takesEta) records.extra(slot).eta = eta;
    if (takesExpires) records.extra(slot).expires = expires;
    return takesEta || takesExpires;
  }

  function fillLineage(slot: number, facts: TaskFacts): boolean {
    const { groupId, chordId } = facts;
    const before = [records.parents[slot], records.roots[slot]];
    const told = records.facts[slot] as number;
    if ((told & FACT.LINEAGE_EVENT) === 0) {
      lineage.take(
        slot,
        {
          parentId: records.parents[slot] === null ? facts.parentId : undefined,
          rootId: records.roots[slot] === null || (told & FACT.ROOT_DERIVED) !== 0 ? facts.rootId : undefined,
          retries: facts.retries,
        },
        true,
        false,
      );
    }
    let isPlaced = before[0] !== records.parents[slot] || before[1] !== records.roots[slot];
    if (typeof groupId === 'string' && (told & FACT.GROUP_TOLD) === 0) {
      isPlaced = lineage.setGroup(slot, groupId, true) || isPlaced;
    }
    if (typeof chordId === 'string' && (told & FACT.CHORD_TOLD) === 0) {
      isPlaced = lineage.setChord(slot, chordId, true) || isPlaced;
    }
    return isPlaced;
  }

  function fillMarks(slot: number, { kind, stamps }: TaskFacts): boolean {
    const known = records.extras.get(slot);
    const takesKind = kind != null && known?.kind == null;
    if (takesKind) records.extra(slot).kind = kind;
    const kept = known?.stamps == null ? keepStamps(stamps) : null;
    if (kept === null) return takesKind;
    records.extra(slot).stamps = kept;
    records.textBytes += kept.size;
    return true;
  }
}
