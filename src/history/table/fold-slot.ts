import { KIND_ORDER } from '../merge/record.ts';
import type { Folded } from './folded.ts';
import { readLife } from './record-table.ts';
import type { Records } from './records.ts';

/** @returns a function that says what is true of a task, in numbers */
export function createSlotFold(records: Records): (slot: number) => Folded {
  return (slot) => {
    const life = readLife(records, slot);
    return {
      kind: KIND_ORDER[life.kind],
      state: records.states.intern(life.state),
      timestamp: life.timestamp ?? Number.NaN,
      worker: life.worker === null ? 0 : records.workers.intern(life.worker),
      sent: life.sent ?? Number.NaN,
      received: life.received ?? Number.NaN,
      started: life.started ?? Number.NaN,
      finished: life.finished ?? Number.NaN,
      runtime: life.runtime ?? Number.NaN,
      retries: life.retries ?? -1,
    };
  };
}
