/** Decides conditions on tasks of the table, without making rows of them. */
import { holdsFigure, holdsText } from '../../select/task-conditions.ts';
import { waitBetween } from '../../select/task-wait.ts';
import { type ConditionFigure, isFigureCondition, type TaskCondition } from '../../source/task-condition.ts';
import { INDEXED_COLUMNS, type IndexedColumn, type TaskIndex } from '../index/task-index.ts';
import type { TaskLife } from '../merge/life.ts';
import { readLife } from '../table/record-table.ts';
import type { Records } from '../table/records.ts';

/** Whether a task meets all conditions, by the same rules as `passesConditions` for its row. */
export function slotPasses(
  slot: number,
  conditions: readonly TaskCondition[],
  records: Records,
  { columns }: TaskIndex,
): boolean {
  let life: TaskLife | null = null;
  for (const condition of conditions) {
    if (isFigureCondition(condition)) {
      life ??= readLife(records, slot);
      if (!holdsFigure(condition, figureOf(life, condition.field, records, slot))) return false;
    } else if (!holdsText(condition, textOf(slot, condition.field, records, columns))) return false;
  }
  return true;
}

function textOf(slot: number, field: string, records: Records, columns: TaskIndex['columns']): string | null {
  if (field === 'id') return records.ids[slot] as string;
  if (!isIndexed(field)) return null;
  const string = records[field][slot] as number;
  return string === 0 ? null : columns[field].strings.text(string);
}

/** Whether an index has the tasks of each value of a field. */
export function isIndexed(field: string): field is IndexedColumn {
  return INDEXED_COLUMNS.some((column) => column === field);
}

function figureOf(life: TaskLife, field: ConditionFigure, { extras }: Records, slot: number): number | null {
  if (field !== 'wait') return life[field];
  return waitBetween(life.waitedSince, extras.get(slot)?.eta ?? null, life.started);
}
