/** A component of the page: most of its lines are one tree of markup, which is read from top to bottom. */
const MARKUP = 'a component of the page, most of it one tree of markup';
/** A hook or effect of the page: listeners and their clean-up share local variables and belong together. */
const EFFECT = 'listeners, timers and their clean-up share local variables';

/** Functions of more than 60 lines, as `path#name`, and why each is still one function. */
export const LONG_FUNCTIONS: Readonly<Record<string, string>> = {
  'src/dashboard/graph/canvas-graph.tsx#CanvasGraph': EFFECT,
  'src/dashboard/graph/canvas-graph.tsx#requestAnimationFrame()': EFFECT,
  'src/dashboard/graph/canvas-graph.tsx#useEffect()': EFFECT,
  'src/dashboard/graph/graph-view.tsx#Drawing': MARKUP,
  'src/dashboard/graph/use-pan-zoom.ts#usePanZoom': EFFECT,
  'src/dashboard/live/use-resource.ts#useResource': EFFECT,
  'src/dashboard/task/task-view.tsx#TaskView': MARKUP,
};
