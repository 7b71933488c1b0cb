import type { JSX } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { branchesOf } from '../graph/node-state.ts';
import { StateBadge } from '../parts/facts.tsx';
import { Moment } from '../parts/inline.tsx';
import { rowKeys, useKeys, useWindow } from '../parts/long-list.ts';
import { go } from '../route.ts';
import { createStore, useNarrow, useStore } from '../store.ts';
import {
  type Facts,
  FIRST_LISTED,
  factsOfRow,
  MORE_LISTED,
  type Opened,
  openedTo,
  type Row,
  rowsOf,
  timesText,
} from './rows.ts';
import { busyTimes, timeScale } from './times.ts';
import { useNow, type Workflow } from './use-workflow.ts';
import { Axis, BAR_END_PX, linkOfRow, pauseBands, WaterfallRow } from './waterfall-row.tsx';

const ROW_PX = 28;
/** On a phone the name is above the bar. */
const TALL_ROW_PX = 52;
const HEAD_PX = 26;
const TIME_LEFT_PX = 8;

/** Every task of a workflow on one time axis. */
export function Waterfall(props: {
  readonly workflow: Workflow;
  readonly taskId: string;
  readonly isFailedOnly: boolean;
  /** The task to scroll to. A new object scrolls there again. */
  readonly goal: { readonly id: string } | null;
}) {
  const { workflow, taskId, isFailedOnly, goal } = props;
  const isNarrow = useNarrow();
  const height = isNarrow ? TALL_ROW_PX : ROW_PX;
  const list = useWindow(height, HEAD_PX);
  const held = useRows(workflow, taskId, isFailedOnly, (index) => list.show(index, '[data-active]'));
  const { rows, at } = held;
  const now = useNow(workflow);
  const { past, open } = workflow;
  const scale = useMemo(() => timeScale(busyTimes(open, now, past)), [past, open, now]);
  const factsOf = useFacts(workflow);
  const share = useStore(nameShare);
  const timeWidth = list.width * (isNarrow ? 1 : 1 - share / 100) - BAR_END_PX - TIME_LEFT_PX;
  useWaterfallKeys(held, list.page, factsOf);
  useEffect(() => {
    if (goal !== null) held.goTo(goal.id);
  }, [goal]);
  useEffect(() => list.reveal(at, true), [isFailedOnly, isNarrow]);

  const drawn = useDrawn([rows, at, factsOf, scale, now, timeWidth, height, taskId], (index) => {
    const row = rows[index] as Row;
    const isTask = row.kind === 'task';
    const isCause = isTask && row.key === workflow.outcome.cause?.id;
    const place = { index, top: index * height, scale, now, timeWidth };
    const marks = { isActive: index === at, isCause, isAsked: isTask && row.key === taskId };
    return <WaterfallRow key={row.key} row={row} held={held} facts={factsOf(row)} {...place} {...marks} />;
  });

  const current = rows[at];
  return (
    <div class="wf" style={{ '--name': `${share}%`, '--row': `${height}px`, '--bands': pauseBands(scale) }}>
      <Tools held={held} />
      <div class="box wf-frame">
        <div
          class="wf-scroller"
          role="treegrid"
          aria-label="Tasks of the workflow"
          aria-rowcount={rows.length + 1}
          ref={list.scroller}
          onScroll={list.measure}
        >
          <Axis scale={scale} width={timeWidth} />
          <div role="rowgroup" class="wf-rows" style={{ height: `${rows.length * height}px` }}>
            {list.indexes(rows.length, at).map(drawn)}
          </div>
        </div>
        {!isNarrow && <Splitter share={share} width={list.width} />}
      </div>
      {current !== undefined && current.kind !== 'more' && <Strip facts={factsOf(current)} now={now} />}
    </div>
  );
}

function Tools({ held }: { readonly held: Rows }) {
  return (
    <div class="flow wf-tools">
      <button type="button" class="small" onClick={() => held.openAll('all')}>
        Open all <kbd>e</kbd>
      </button>
      <button type="button" class="small" onClick={() => held.openAll('none')}>
        Close all <kbd>w</kbd>
      </button>
      <span class="small-text wf-legend dim end">
        <i class="wf-wait tone-success" /> waited <i class="wf-run tone-success" /> ran
        <i class="wf-run tone-failure" /> failed <i class="wf-retry" /> retried
      </span>
    </div>
  );
}

function useWaterfallKeys(held: Rows, page: number, factsOf: (row: Row) => Facts): void {
  const { rows, at } = held;
  const row = rows[at];
  function open(): void {
    if (row === undefined) return;
    const link = linkOfRow(row, factsOf(row));
    if (link === null) held.toggle(at);
    else go(link);
  }
  useKeys({
    ...rowKeys(rows.length, page, held.move),
    e: () => held.openAll('all'),
    w: () => held.openAll('none'),
    ArrowRight: () => (row?.isOpen === false ? held.toggle(at) : held.move(1)),
    ArrowLeft: () => (row?.isOpen === true ? held.toggle(at) : held.moveToParent()),
    Enter: open,
  });
}

/** Renders each row only once until something changes: scrolling renders only new rows. */
function useDrawn(
  inputs: readonly unknown[],
  draw: (index: number) => JSX.Element,
): (index: number) => JSX.Element {
  const known = useMemo(() => new Map<number, JSX.Element>(), inputs);
  return (index) => {
    const element = known.get(index) ?? draw(index);
    known.set(index, element);
    return element;
  };
}

/** The contents of rows, computed when they are first rendered and again when states change. */
function useFacts(workflow: Workflow): (row: Row) => Facts {
  const { nodes, outcome } = workflow;
  const known = useMemo(() => new Map<string, Facts>(), [nodes, outcome.idle]);
  const factsOf = (row: Row): Facts => {
    const facts = known.get(row.key) ?? factsOfRow(row, workflow);
    if (row.kind !== 'more') known.set(row.key, facts);
    return facts;
  };
  return useCallback(factsOf, [known]);
}

/** Width of the names, in percent of the waterfall. It lasts until the page is closed. */
const nameShare = createStore(38);

const LEAST = 15;
const MOST = 75;

const setShare = (share: number): void => nameShare.set(Math.round(Math.min(MOST, Math.max(LEAST, share))));

/** The border between names and bars, which can be dragged and moved by keys. */
function Splitter({ share, width }: { readonly share: number; readonly width: number }) {
  function drag(event: PointerEvent): void {
    const handle = event.currentTarget as HTMLElement;
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const left = handle.parentElement?.getBoundingClientRect().left ?? 0;
    setShare(((event.clientX - left) / width) * 100);
  }
  function onKey(event: KeyboardEvent): void {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: share - 2,
      ArrowRight: share + 2,
      Home: LEAST,
      End: MOST,
    };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setShare(next);
  }
  return (
    <div
      class="wf-splitter"
      style={{ left: `${(width * share) / 100}px` }}
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the names"
      aria-valuenow={share}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      tabIndex={0}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={drag}
      onKeyDown={onKey}
    />
  );
}

/** All details of the active row, below the waterfall. */
function Strip({ facts, now }: { readonly facts: Facts; readonly now: number }) {
  const { name, node, state } = facts;
  const times = timesText(facts, now);
  return (
    <section class="flow wf-strip" aria-label="Selected row">
      <strong class="wrap">{name}</strong>
      {node?.state == null || facts.isFaded ? (
        <span class="dim">{state}</span>
      ) : (
        <StateBadge state={node.state} engineState={node.engine_state} />
      )}
      {node?.sent_at != null && (
        <span>
          sent <Moment at={node.sent_at} />
        </span>
      )}
      {times !== '' && <span>{times}</span>}
      {node?.worker != null && <span class="dim wrap">{node.worker}</span>}
      {node?.queue != null && <span class="dim wrap">{`queue ${node.queue}`}</span>}
      {node?.traceback_preview != null && !facts.isFaded && (
        <span class="tone-failure wrap">{node.traceback_preview}</span>
      )}
    </section>
  );
}

export type Rows = ReturnType<typeof useRows>;

/**
 * The rows of the waterfall, the active one, and the reader's actions on them. Starts at the task that failed first,
 * otherwise at the one for which the workflow was opened.
 *
 * @param show scrolls to a row and focuses it
 */
function useRows(
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
