import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { branchesOf } from './outcome.ts';
import { FIRST_LISTED, MORE_LISTED, type Opened, openedTo, type Row, rowsOf } from './rows.ts';
import type { Workflow } from './use-workflow.ts';

export type Rows = ReturnType<typeof useRows>;

/**
 * The rows of the waterfall, the active one, and the reader's actions on them. Starts at the task that failed first,
 * otherwise at the one for which the workflow was opened.
 *
 * @param show scrolls to a row and focuses it
 */
export function useRows(
  { tree, outcome, branches }: Workflow,
  taskId: string,
  isFailedOnly: boolean,
  show: (index: number) => void,
) {
  const start = outcome.cause?.id ?? taskId;
  const [opened, setOpened] = useState<Opened>(() =>
    openedTo({ others: 'tasks', rows: new Map(), listed: new Map() }, tree, start),
  );
  const first = useMemo(
    () => branchesOf(new Set([...outcome.failed, taskId]), tree.parentOf),
    [branches, tree, taskId],
  );
  const only = isFailedOnly ? branches : null;
  const rows = useMemo(() => rowsOf({ tree, opened, first, only }), [tree, opened, first, only]);
  const [active, setActive] = useState<string | null>(start);
  const at = Math.max(0, active === null ? 0 : rows.findIndex(({ key }) => key === active));
  const [moves, setMoves] = useState(0);
  const latest = useRef(at);
  latest.current = at;
  // Immediately: later, moving the focus would undo the effect of the next key.
  useLayoutEffect(() => {
    if (moves > 0) show(latest.current);
  }, [moves]);

  function activate(key: string | null): void {
    setActive(key);
    setMoves((before) => before + 1);
  }
  return {
    rows,
    /** Index of the row that keys act on. */
    at,
    pick: (index: number) => setActive(rows[index]?.key ?? null),
    /** Activates another row, scrolls to it and focuses it. */
    move: (step: number) => activate(rows[Math.min(rows.length - 1, Math.max(0, at + step))]?.key ?? null),
    moveToParent() {
      const depth = rows[at]?.depth ?? 0;
      const parent = rows.slice(0, at).findLast((row) => row.depth < depth);
      if (parent !== undefined) activate(parent.key);
    },
    toggle(index: number) {
      const row = rows[index];
      if (row === undefined) return;
      setOpened((before) => toggled(before, row));
      // The first of the tasks that it adds.
      activate(row.kind === 'more' ? (row.ids[0] ?? null) : row.key);
    },
    openAll(others: Opened['others']) {
      setOpened({ others, rows: new Map(), listed: new Map() });
      activate(active);
    },
    /** Opens the rows above a task and activates it. */
    goTo(id: string) {
      setOpened((before) => openedTo(before, tree, id));
      activate(id);
    },
  };
}

function toggled(opened: Opened, { key, kind, isOpen, fold }: Row): Opened {
  if (kind === 'more') {
    const listed = new Map(opened.listed);
    listed.set(fold, (opened.listed.get(fold) ?? FIRST_LISTED) + MORE_LISTED);
    return { ...opened, listed };
  }
  if (isOpen === null) return opened;
  return { ...opened, rows: new Map(opened.rows).set(key, !isOpen) };
}
