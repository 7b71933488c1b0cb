/** The rows of the waterfall: tasks, folded siblings with the same name, and rows that list more of them. */
import type { Tree } from './use-workflow.ts';

/** A row. */
export interface Row {
  readonly key: string;
  readonly kind: 'task' | 'fold' | 'more';
  readonly depth: number;
  /** The task of the row; of a fold, all its tasks; of `more`, those that are not listed yet. */
  readonly ids: readonly string[];
  /** Whether the rows below it are shown; `null` if it can have none. */
  readonly isOpen: boolean | null;
  /** The key of the fold that it is, that it belongs to, or would belong to if there were more tasks of its name. */
  readonly fold: string;
}

/** The rows that the reader has opened. */
export interface Opened {
  /** For every row that the reader has not opened or closed: all, none, or all but folds. */
  readonly others: 'all' | 'none' | 'tasks';
  readonly rows: ReadonlyMap<string, boolean>;
  /** Number of listed tasks of a fold, in addition to those that are always listed. */
  readonly listed: ReadonlyMap<string, number>;
}

/** More siblings of one name than this are folded. */
const MOST_SIBLINGS = 5;
/** Number of tasks of an opened fold, in addition to those that failed. */
export const FIRST_LISTED = 20;
/** How many more are listed at a time. */
export const MORE_LISTED = 50;

/** The input of {@link rowsOf}. */
interface RowsOptions {
  readonly tree: Tree;
  readonly opened: Opened;
  /** Rows to list first in their fold: failed tasks, with the rows above them. */
  readonly first: ReadonlySet<string>;
  /** If not `null`, no other rows are listed. */
  readonly only: ReadonlySet<string> | null;
}

type Item = Omit<Row, 'isOpen'>;

/** The rows to show, from top to bottom. */
export function rowsOf(options: RowsOptions): readonly Row[] {
  const { tree, opened } = options;
  const rows: Row[] = [];
  // A stack, because chains of senders may be deeper than the call stack.
  const waiting: Item[] = itemsOf(options, tree.roots, 0).toReversed();
  for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
    const { kind, key, ids, depth } = item;
    if (kind === 'more') {
      rows.push({ ...item, isOpen: null });
      continue;
    }
    const children = kind === 'task' ? (tree.childrenOf.get(ids[0] ?? '') ?? []) : ids;
    const kept = options.only === null ? children : children.filter((id) => options.only?.has(id));
    const isOpen = kept.length === 0 ? null : isOpened(opened, key, kind);
    rows.push({ ...item, isOpen });
    if (isOpen !== true) continue;
    const below =
      kind === 'task' ? itemsOf(options, kept, depth + 1) : itemsOfFold(options, key, kept, depth + 1);
    for (const one of below.toReversed()) waiting.push(one);
  }
  return rows;
}

function isOpened({ others, rows }: Opened, key: string, kind: Row['kind']): boolean {
  return rows.get(key) ?? (others === 'all' || (others === 'tasks' && kind === 'task'));
}

/** Siblings, with those of one name folded at the place of the first. */
function itemsOf({ tree, only }: RowsOptions, siblings: readonly string[], depth: number): readonly Item[] {
  const kept = only === null ? siblings : siblings.filter((id) => only.has(id));
  const keyOf = (id: string): string => tree.foldOf.get(id) ?? id;
  const byName = Map.groupBy(kept, keyOf);
  const items: Item[] = [];
  for (const id of kept) {
    const key = keyOf(id);
    const ids = byName.get(key);
    if (ids === undefined) continue;
    if (ids.length <= MOST_SIBLINGS) items.push({ kind: 'task', key: id, ids: [id], depth, fold: key });
    else {
      items.push({ kind: 'fold', key, ids, depth, fold: key });
      byName.delete(key);
    }
  }
  return items;
}

/** The tasks of an opened fold: failed ones, then the first others, then the number of remaining ones. */
function itemsOfFold(
  { first, opened }: RowsOptions,
  key: string,
  ids: readonly string[],
  depth: number,
): readonly Item[] {
  const most = opened.listed.get(key) ?? FIRST_LISTED;
  const others = ids.filter((id) => !first.has(id));
  const listed = [...ids.filter((id) => first.has(id)), ...others.slice(0, most)];
  const items = listed.map((id): Item => ({ kind: 'task', key: id, ids: [id], depth, fold: key }));
  const left = others.slice(most);
  return left.length === 0
    ? items
    : [...items, { kind: 'more', key: `more ${key}`, ids: left, depth, fold: key }];
}

/** Opens the rows above a task, so that its own row is shown. */
export function openedTo(opened: Opened, tree: Tree, id: string): Opened {
  const rows = new Map(opened.rows);
  const seen = new Set<string>();
  for (let at: string | undefined = id; at !== undefined && !seen.has(at); ) {
    seen.add(at);
    rows.set(tree.foldOf.get(at) ?? at, true);
    at = tree.parentOf.get(at);
    if (at !== undefined) rows.set(at, true);
  }
  return { ...opened, rows };
}
