import '../style/graph.css';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { GraphState } from '../../client.ts';
import type { GraphNodeBody } from '../../wire.ts';
import { Empty, Loading } from '../parts/view.tsx';
import { runInSlices, type Steps } from '../slices.ts';
import { useNarrow } from '../store.ts';
import { wordsFor } from '../text/words.ts';
import { Details, Summary } from './details.tsx';
import { type Layout, layOut, type Point } from './layout.ts';
import type { Outcome } from './node-state.ts';
import { failedPath, type Structure, structureOf } from './structure.ts';
import { SvgGraph } from './svg-graph.tsx';
import { usePanZoom } from './use-pan-zoom.ts';

interface GraphViewProps {
  readonly graph: GraphState;
  readonly nodes: ReadonlyMap<string, GraphNodeBody>;
  readonly outcome: Outcome;
  readonly taskId: string;
  readonly isFailedOnly: boolean;
}

/** Draws a workflow. */
export function GraphView(props: GraphViewProps) {
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(new Set());
  const drawn = useDrawn(props, expanded);
  if (drawn === null) return <Loading />;
  return <Drawing {...props} {...drawn} expanded={expanded} onExpand={setExpanded} />;
}

/** The drawing and its layout. */
interface Drawn {
  readonly structure: Structure;
  readonly layout: Layout;
}

function* drawnOf(steps: Steps<Structure>, isNarrow: boolean): Steps<Drawn> {
  const structure = yield* steps;
  return { structure, layout: yield* layOut(structure, isNarrow) };
}

/** The drawing, made in slices; `null` until the first one is ready. */
function useDrawn(
  { graph, outcome, isFailedOnly }: GraphViewProps,
  expanded: ReadonlySet<string>,
): Drawn | null {
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const isNarrow = useNarrow();
  // State changes do not move nodes. Only the failed path needs a new layout when other tasks have failed: a task that
  // turns out to be a consequence may leave while another one joins.
  const failures = isFailedOnly ? [...outcome.failed].join('\n') : '';
  useEffect(() => {
    let isOver = false;
    const shown = isFailedOnly ? failedPath(graph, outcome.failed) : graph;
    runInSlices(drawnOf(structureOf(shown.nodes, shown.edges, expanded), isNarrow), (made) => {
      if (!isOver) setDrawn(made);
    });
    return () => {
      isOver = true;
    };
  }, [graph.edges, graph.nodes.length, expanded, isFailedOnly, failures, isNarrow]);
  return drawn;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a component of the page, most of it one tree of markup
function Drawing(
  props: GraphViewProps &
    Drawn & {
      readonly expanded: ReadonlySet<string>;
      readonly onExpand: (expanded: ReadonlySet<string>) => void;
    },
) {
  const { graph, nodes, outcome, taskId, isFailedOnly } = props;
  const { structure, layout, expanded, onExpand: setExpanded } = props;
  const [selected, setSelected] = useState<string | null>(null);
  const [search, setSearch] = useState('');
  const asked = structure.drawnIdOf.get(taskId) ?? taskId;
  const drawingKey = `${taskId} ${isFailedOnly} ${structure.nodes.length}`;
  const pan = usePanZoom(layout, drawingKey, layout.points.get(asked));
  const matches = useMemo(() => matchesOf(search, structure.nodes, nodes), [search, structure, nodes]);
  const drawn = structure.nodes.find((node) => node.id === selected);

  function moveTo(node: string | undefined, move: (point: Point) => void): void {
    const point = layout.points.get(node ?? '');
    if (point !== undefined) move(point);
  }
  useEffect(() => moveTo([...(matches ?? [])][0], pan.centre), [search]);

  function pick(node: string): void {
    if (!pan.wasDragged()) setSelected(node === selected ? null : node);
  }
  function find(node: string): void {
    const drawnId = structure.drawnIdOf.get(node) ?? node;
    setSelected(drawnId);
    moveTo(drawnId, pan.centre);
  }

  // Panning moves the whole drawing, so the nodes need not be rendered again.
  const svg = useMemo(
    () => (
      <SvgGraph
        {...{ structure, layout, nodes, asked, selected, matches }}
        onPick={pick}
        onReach={(node) => moveTo(node, pan.reveal)}
      />
    ),
    [structure, layout, nodes, asked, selected, matches],
  );
  if (structure.nodes.length === 0) return <Empty title="Nothing in this workflow has failed" />;
  return (
    <div class="graph">
      <div class="box graph-stage" ref={pan.ref}>
        <svg class="graph-svg" role="group" aria-label="Workflow">
          <defs>
            <marker
              id="arrow"
              viewBox="0 0 8 8"
              refX="6"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto"
            >
              <path class="arrow" d="M0 0L8 4L0 8z" />
            </marker>
          </defs>
          <g transform={`translate(${pan.view.x} ${pan.view.y}) scale(${pan.view.k})`}>{svg}</g>
        </svg>
      </div>
      <div class="flow graph-tools" role="search">
        <input
          type="search"
          aria-label="Find in the workflow"
          placeholder="Find  ( / )"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <span class="dim" role="status">
          {matches === null ? '' : `${matches.size} found`}
        </span>
        <button type="button" class="small" aria-label="Zoom in" onClick={() => pan.zoom(1.3)}>
          +
        </button>
        <button type="button" class="small" aria-label="Zoom out" onClick={() => pan.zoom(1 / 1.3)}>
          −
        </button>
        <button type="button" class="small" onClick={pan.showAll}>
          Fit
        </button>
        {expanded.size > 0 && (
          <button type="button" class="small" onClick={() => setExpanded(new Set())}>
            Fold groups
          </button>
        )}
      </div>
      <aside class="panel graph-side" aria-label="Details">
        {drawn === undefined ? (
          <Summary graph={graph} outcome={outcome} onPick={find} />
        ) : (
          <Details
            drawn={drawn}
            nodes={nodes}
            words={wordsFor(graph.sources)}
            onExpand={(key) => setExpanded(new Set([...expanded, key]))}
          />
        )}
      </aside>
    </div>
  );
}

function matchesOf(
  search: string,
  drawn: Structure['nodes'],
  nodes: ReadonlyMap<string, GraphNodeBody>,
): ReadonlySet<string> | null {
  const text = search.trim().toLowerCase();
  if (text === '') return null;
  const has = (value: string | null | undefined): boolean => value?.toLowerCase().includes(text) === true;
  const found = drawn.filter(({ name, members }) => {
    if (has(name)) return true;
    return members.some((id) => {
      const node = nodes.get(id);
      return (
        has(id) ||
        has(node?.state) ||
        has(node?.worker) ||
        has(node?.args_preview) ||
        has(node?.kwargs_preview)
      );
    });
  });
  return new Set(found.map(({ id }) => id));
}
