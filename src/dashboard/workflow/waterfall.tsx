import '../style/waterfall-rows.css';
import type { JSX } from 'preact';
import { useCallback, useEffect, useMemo } from 'preact/hooks';
import { clock } from '../live/clock.ts';
import { useRowKeys } from '../parts/use-row-keys.ts';
import { go } from '../route.ts';
import { useStore } from '../store.ts';
import { useMedia } from '../use-media.ts';
import { Axis, pauseBands } from './axis.tsx';
import { BAR_END_PX } from './bar.tsx';
import type { Row } from './rows.ts';
import { nameShare, Splitter } from './splitter.tsx';
import { Strip } from './strip.tsx';
import { busyTimes, timeScale } from './time-scale.ts';
import { type Rows, useRows } from './use-rows.ts';
import { useTreeKeys } from './use-tree-keys.ts';
import { useWindow } from './use-window.ts';
import type { Workflow } from './use-workflow.ts';
import { linkOfRow, WaterfallRow } from './waterfall-row.tsx';
import { type Facts, factsOfFold, factsOfTask } from './words.ts';

const ROW_PX = 28;
/** On a phone the name is above the bar. */
const TALL_ROW_PX = 52;
const HEAD_PX = 26;
const TIME_LEFT_PX = 8;

interface WaterfallProps {
  readonly workflow: Workflow;
  readonly taskId: string;
  readonly isFailedOnly: boolean;
  /** The task to scroll to. A new object scrolls there again. */
  readonly goal: { readonly id: string } | null;
}

/** Every task of a workflow on one time axis. */
export function Waterfall({ workflow, taskId, isFailedOnly, goal }: WaterfallProps) {
  const isNarrow = useMedia('(max-width: 760px)');
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
  useKeys(held, list.page, factsOf);
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
      <div class="wf-frame">
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
    <div class="wf-tools">
      <button type="button" class="small" onClick={() => held.openAll('all')}>
        Open all <kbd>e</kbd>
      </button>
      <button type="button" class="small" onClick={() => held.openAll('none')}>
        Close all <kbd>w</kbd>
      </button>
      <span class="wf-legend dim">
        <i class="wf-wait" /> waited <i class="wf-run tone-success" /> ran
      </span>
    </div>
  );
}

function useKeys(held: Rows, page: number, factsOf: (row: Row) => Facts): void {
  const { rows, at } = held;
  const row = rows[at];
  function open(): void {
    if (row === undefined) return;
    const link = linkOfRow(row, factsOf(row));
    if (link === null) held.toggle(at);
    else go(link);
  }
  useRowKeys(rows.length, page, held.move);
  useTreeKeys({
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

/** The current time while anything waits or runs, otherwise a constant time. */
function useNow({ graph, open }: Workflow): number {
  const now = useStore(clock);
  const answered = Date.parse(graph.meta.generated_at);
  return open.length > 0 ? Math.max(now, answered) : answered;
}

/** The contents of rows, computed when they are first rendered and again when states change. */
function useFacts({ nodes, outcome: { idle } }: Workflow): (row: Row) => Facts {
  const known = useMemo(() => new Map<string, Facts>(), [nodes, idle]);
  const factsOf = ({ kind, key, ids }: Row): Facts => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const found = ids.map((id) => nodes.get(id)).filter((node) => node !== undefined);
    const [node] = found;
    const facts = kind === 'task' && node !== undefined ? factsOfTask(node, idle) : factsOfFold(found, idle);
    if (kind !== 'more') known.set(key, facts);
    return facts;
  };
  return useCallback(factsOf, [known]);
}
