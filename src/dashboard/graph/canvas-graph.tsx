import { useEffect, useMemo, useRef } from 'preact/hooks';
import { theme } from '../settings.ts';
import { useStore } from '../store.ts';
import { lookOf } from './looks.ts';
import { LINES, NODE } from './points.ts';
import type { DrawingProps } from './svg-graph.tsx';
import { short, titleLines } from './titles.ts';
import type { PanZoom } from './use-pan-zoom.ts';

const TONES = ['success', 'failure', 'retry', 'running', 'waiting', 'revoked'];
/** Zoom factor below which text is unreadable and is not drawn. */
const SMALLEST_TEXT = 0.45;

/** Draws thousands of nodes. Keyboard and screen-reader users get the list next to it. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listeners, timers and their clean-up share local variables
export function CanvasGraph(props: DrawingProps & { readonly pan: PanZoom }) {
  const { structure, layout, nodes, selected, matches, onPick, pan } = props;
  const { view, size } = pan;
  const ref = useRef<HTMLCanvasElement>(null);
  const chosen = useStore(theme);
  const titles = useMemo(() => titleLines(structure.nodes), [structure]);

  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: listeners, timers and their clean-up share local variables
  useEffect(() => {
    const canvas = ref.current;
    const context = canvas?.getContext('2d') ?? null;
    if (canvas === null || context === null) return undefined;
    // biome-ignore lint/complexity/noExcessiveLinesPerFunction: listeners, timers and their clean-up share local variables
    const frame = requestAnimationFrame(() => {
      const style = getComputedStyle(canvas);
      const colour = (name: string): string => {
        // Let the browser resolve the colour: a canvas does not accept `light-dark()`.
        canvas.style.color = `var(--${name})`;
        return style.color;
      };
      const tones = new Map(TONES.map((tone) => [tone, colour(tone)]));
      const [panel, line, text, dim, accent] = ['panel', 'line', 'text', 'dim', 'accent'].map(colour);
      const ratio = devicePixelRatio;
      canvas.width = size.width * ratio;
      canvas.height = size.height * ratio;
      context.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
      const [left, top] = [-view.x / view.k - NODE.width, -view.y / view.k - NODE.height];
      const [right, bottom] = [
        left + size.width / view.k + NODE.width * 2,
        top + size.height / view.k + NODE.height * 2,
      ];

      context.strokeStyle = dim ?? '';
      context.globalAlpha = 0.45;
      context.lineWidth = Math.max(1, 0.6 / view.k);
      context.beginPath();
      for (const { source, target } of structure.edges) {
        const from = layout.points.get(source);
        const to = layout.points.get(target);
        if (from === undefined || to === undefined) continue;
        if (Math.max(from.y, to.y) < top || Math.min(from.y, to.y) > bottom || to.x < left || from.x > right)
          continue;
        const [x1, x2] = [from.x + NODE.width / 2, to.x - NODE.width / 2];
        const bend = Math.max(20, (x2 - x1) / 2);
        context.moveTo(x1, from.y);
        context.bezierCurveTo(x1 + bend, from.y, x2 - bend, to.y, x2, to.y);
      }
      context.stroke();

      const hasText = view.k >= SMALLEST_TEXT;
      for (const node of structure.nodes) {
        const point = layout.points.get(node.id);
        if (point === undefined || point.x < left || point.x > right || point.y < top || point.y > bottom)
          continue;
        const [x, y] = [point.x - NODE.width / 2, point.y - NODE.height / 2];
        const look = lookOf(node, nodes);
        const tone = tones.get(look.tone) ?? '';
        context.globalAlpha = matches !== null && !matches.has(node.id) ? 0.2 : 1;
        context.fillStyle = hasText ? (panel ?? '') : tone;
        context.fillRect(x, y, NODE.width, NODE.height);
        if (hasText) {
          context.strokeStyle = line ?? '';
          context.lineWidth = 1;
          context.strokeRect(x, y, NODE.width, NODE.height);
          context.fillStyle = tone;
          context.fillRect(x, y, 5, NODE.height);
          context.font = '600 12px system-ui, sans-serif';
          context.fillStyle = text ?? '';
          const title = titles.get(node.id) ?? [];
          const places = LINES[title.length] ?? [];
          for (const [index, part] of title.entries())
            context.fillText(part, x + 14, y + (places[index] ?? 0));
          context.font = '11px system-ui, sans-serif';
          context.fillStyle = tone;
          context.fillText(short(look.line, 30), x + 14, y + (places[title.length] ?? 0));
        }
        if (node.id === selected) {
          context.strokeStyle = accent ?? '';
          context.lineWidth = Math.max(3, 2 / view.k);
          context.strokeRect(x - 2, y - 2, NODE.width + 4, NODE.height + 4);
        }
      }
    });
    return () => cancelAnimationFrame(frame);
  }, [structure, layout, nodes, selected, matches, view, size, chosen]);

  function pick(event: MouseEvent): void {
    if (pan.wasDragged()) return;
    const box = ref.current?.getBoundingClientRect();
    if (box === undefined) return;
    const x = (event.clientX - box.left - view.x) / view.k;
    const y = (event.clientY - box.top - view.y) / view.k;
    const hit = structure.nodes.find(({ id }) => {
      const point = layout.points.get(id);
      return (
        point !== undefined &&
        Math.abs(point.x - x) <= NODE.width / 2 &&
        Math.abs(point.y - y) <= NODE.height / 2
      );
    });
    if (hit !== undefined) onPick(hit.id);
  }

  return (
    <canvas
      ref={ref}
      class="graph-canvas"
      role="img"
      aria-label={`Workflow of ${structure.nodes.length} nodes; search finds them by name`}
      onClick={pick}
    />
  );
}
