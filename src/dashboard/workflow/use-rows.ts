import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { branchesOf } from './outcome.ts';
import { FIRST_LISTED, MORE_LISTED, type Opened, openedTo, type Row, rowsOf } from './rows.ts';
import type { Workflow } from './use-workflow.ts';

/** The rows of the waterfall, the active one, and the reader's actions on them. */
export interface Rows {
  readonly rows: readonly Row[];
  /** Index of the row that keys act on. */
  readonly at: number;
  /** Activates a row. */
  pick(index: number): void;
  /** Activates another row by keys, scrolls to it and focuses it. */
  move(step: number): void;
  moveToParent(): void;
  toggle(index: number): void;
  openAll(others: Opened['others']): void;
  /** Opens the rows above a task and activates it. */
  goTo(id: string): void;
}

/**
 * Starts at the task that failed first, otherwise at the one for which the workflow was opened.
 *
 * @param show scrolls to a row and focuses it
 */
export function useRows(
  { tree, outcome, branches }: Workflow,
  taskId: string,
  isFailedOnly: boolean,
  show: (index: number) => void,
): Rows {
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
    at,
    pick: (index) => setActive(rows[index]?.key ?? null),
    move: (step) => activate(rows[Math.min(rows.length - 1, Math.max(0, at + step))]?.key ?? null),
    moveToParent() {
      const depth = rows[at]?.depth ?? 0;
      const parent = rows.slice(0, at).findLast((row) => row.depth < depth);
      if (parent !== undefined) activate(parent.key);
    },
    toggle(index) {
      const row = rows[index];
      if (row === undefined) return;
      setOpened((before) => toggled(before, row));
      // The first of the tasks that it adds.
      activate(row.kind === 'more' ? (row.ids[0] ?? null) : row.key);
    },
    openAll(others) {
      setOpened({ others, rows: new Map(), listed: new Map() });
      activate(active);
    },
    goTo(id) {
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
